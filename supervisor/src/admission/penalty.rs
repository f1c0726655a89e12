//! Failed logins per address: after so many a minute, further ones are answered 429 at once and not logged.
//!
//! Promises: memory is bounded whatever comes, and one address is one IPv4 address or one IPv6 /64. A right token is
//! never held up by somebody else's wrong ones, since on one machine all clients share an address. Refuses to know
//! tokens.

use super::rate::{Bucket, Rate};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Most addresses remembered.
const MAX_ADDRESSES: usize = 4096;

/// Failed logins by address.
#[derive(Debug)]
pub(super) struct Penalties {
    rate: Rate,
    by_address: HashMap<IpAddr, Bucket>,
    /// For addresses that find no room.
    others: Bucket,
}

impl Penalties {
    /// `per_minute` 0: never.
    pub(super) fn new(per_minute: u32, now: Instant) -> Self {
        Self { rate: Rate { per_minute, burst: per_minute }, by_address: HashMap::new(), others: Bucket::full(now) }
    }

    /// Whether failures are counted at all.
    pub(super) const fn counts(&self) -> bool {
        self.rate.per_minute > 0
    }

    /// Notes a failed login.
    ///
    /// # Errors
    /// How long this address is to be told 429.
    pub(super) fn failed(&mut self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let address = network(address);
        if self.by_address.len() >= MAX_ADDRESSES && !self.by_address.contains_key(&address) {
            self.by_address.retain(|_, bucket| !bucket.is_full(now));
            if self.by_address.len() >= MAX_ADDRESSES {
                return self.others.take(self.rate, now);
            }
        }
        self.by_address.entry(address).or_insert_with(|| Bucket::full(now)).take(self.rate, now)
    }
}

/// One customer has at least a /64 of IPv6, and could take a new address for each guess.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) if v6.is_loopback() => IpAddr::V6(v6),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_allowed_failures_an_address_is_held_off_and_others_are_not() {
        let now = Instant::now();
        let mut penalties = Penalties::new(3, now);
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let failed = (0..10).filter(|_| penalties.failed(one, now).is_ok()).count();
        assert_eq!(failed, 3);
        assert_eq!(penalties.failed(one, now), Err(Duration::from_secs(20)));
        assert_eq!(penalties.failed("192.0.2.2".parse().unwrap(), now), Ok(()));
        assert_eq!(penalties.failed(one, now + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn one_ipv6_network_is_one_address_and_a_mapped_one_is_ipv4() {
        let now = Instant::now();
        let mut penalties = Penalties::new(1, now);
        assert!(penalties.failed("2001:db8::1".parse().unwrap(), now).is_ok());
        assert!(penalties.failed("2001:db8::2".parse().unwrap(), now).is_err());
        assert!(penalties.failed("2001:db8:0:1::1".parse().unwrap(), now).is_ok());
        assert!(penalties.failed("192.0.2.1".parse().unwrap(), now).is_ok());
        assert!(penalties.failed("::ffff:192.0.2.1".parse().unwrap(), now).is_err());
    }

    #[test]
    fn a_hundred_thousand_addresses_take_no_more_room_than_the_bound() {
        let now = Instant::now();
        let mut penalties = Penalties::new(2, now);
        let told: usize =
            (0..100_000u32).filter(|n| penalties.failed(IpAddr::from(n.to_be_bytes()), now).is_ok()).count();
        assert_eq!(penalties.by_address.len(), MAX_ADDRESSES);
        assert_eq!(told, MAX_ADDRESSES + 2, "those without room share one bucket");
        let later = now + Duration::from_secs(120);
        assert!(penalties.failed("10.1.1.1".parse().unwrap(), later).is_ok());
        assert!(penalties.by_address.len() <= 1 + 1, "expired entries went when room was needed");
    }
}
