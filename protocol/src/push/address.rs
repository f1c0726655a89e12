//! Which addresses a notification may go to: one table of those that it may not.
//!
//! Promises: everything that is not a plain public unicast address stands in [`ROWS`], with its reason; an IPv6 address
//! that stands for an IPv4 one is refused as such, whatever it stands for. Refuses to know names.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses that no notification goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its first address.
    pub first: IpAddr,
    /// Bits that all its addresses have in common.
    pub bits: u8,
    /// What it is.
    pub what: &'static str,
}

/// The row of this name is the one that a setting can open.
pub const LOOPBACK: &str = "loopback";

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8, what: &'static str) -> Row {
    Row { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits, what }
}

const fn v6(head: [u16; 4], tail: [u16; 4], bits: u8, what: &'static str) -> Row {
    let ([a, b, c, d], [e, f, g, h]) = (head, tail);
    Row { first: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), bits, what }
}

const NONE: [u16; 4] = [0; 4];

/// All of them: the registries of special addresses of the IANA, and what clouds use beside them. Where rows lie in one
/// another the narrower one stands first.
#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    v4(0, 0, 0, 0, 8, "this network"),
    v4(10, 0, 0, 0, 8, "private"),
    v4(100, 64, 0, 0, 10, "carrier-grade NAT"),
    v4(127, 0, 0, 0, 8, LOOPBACK),
    v4(168, 63, 129, 16, 32, "a cloud's host"),
    v4(169, 254, 169, 254, 32, "a cloud's metadata"),
    v4(169, 254, 0, 0, 16, "link-local"),
    v4(172, 16, 0, 0, 12, "private"),
    v4(192, 0, 0, 0, 24, "protocol assignments"),
    v4(192, 0, 2, 0, 24, "documentation"),
    v4(192, 31, 196, 0, 24, "AS112"),
    v4(192, 52, 193, 0, 24, "AMT"),
    v4(192, 88, 99, 0, 24, "6to4 relays"),
    v4(192, 168, 0, 0, 16, "private"),
    v4(192, 175, 48, 0, 24, "AS112"),
    v4(198, 18, 0, 0, 15, "benchmarking"),
    v4(198, 51, 100, 0, 24, "documentation"),
    v4(203, 0, 113, 0, 24, "documentation"),
    v4(224, 0, 0, 0, 4, "multicast"),
    v4(255, 255, 255, 255, 32, "broadcast"),
    v4(240, 0, 0, 0, 4, "reserved"),
    v6(NONE, NONE, 128, "unspecified"),
    v6(NONE, [0, 0, 0, 1], 128, LOOPBACK),
    v6(NONE, NONE, 96, "IPv4-compatible"),
    v6(NONE, [0, 0xffff, 0, 0], 96, "IPv4-mapped"),
    v6(NONE, [0xffff, 0, 0, 0], 96, "IPv4-translated"),
    v6([0x64, 0xff9b, 0, 0], NONE, 96, "NAT64"),
    v6([0x64, 0xff9b, 1, 0], NONE, 48, "local NAT64"),
    v6([0x100, 0, 0, 0], NONE, 64, "discard"),
    v6([0x2001, 0, 0, 0], NONE, 32, "Teredo"),
    v6([0x2001, 2, 0, 0], NONE, 48, "benchmarking"),
    v6([0x2001, 0x10, 0, 0], NONE, 28, "ORCHID"),
    v6([0x2001, 0x20, 0, 0], NONE, 28, "ORCHID"),
    v6([0x2001, 0, 0, 0], NONE, 23, "protocol assignments"),
    v6([0x2001, 0xdb8, 0, 0], NONE, 32, "documentation"),
    v6([0x2002, 0, 0, 0], NONE, 16, "6to4"),
    v6([0x2620, 0x4f, 0x8000, 0], NONE, 48, "AS112"),
    v6([0x3fff, 0, 0, 0], NONE, 20, "documentation"),
    v6([0x5f00, 0, 0, 0], NONE, 16, "segment routing"),
    v6([0xfc00, 0, 0, 0], NONE, 7, "unique local"),
    v6([0xfe80, 0, 0, 0], NONE, 10, "link-local"),
    v6([0xfec0, 0, 0, 0], NONE, 10, "site-local"),
    v6([0xff00, 0, 0, 0], NONE, 8, "multicast"),
    // What is left beside 2000::/3, the only block that is given out.
    v6(NONE, NONE, 3, "not given out"),
    v6([0x4000, 0, 0, 0], NONE, 2, "not given out"),
    v6([0x8000, 0, 0, 0], NONE, 1, "not given out"),
];

impl Row {
    /// Whether an address lies in it.
    #[must_use]
    pub const fn holds(&self, address: IpAddr) -> bool {
        let (first, address, width) = match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => (first.to_bits() as u128, address.to_bits() as u128, 32u32),
            (IpAddr::V6(first), IpAddr::V6(address)) => (first.to_bits(), address.to_bits(), 128),
            _ => return false,
        };
        match (first ^ address).checked_shr(width.saturating_sub(self.bits as u32)) {
            Some(different) => different == 0,
            None => true,
        }
    }
}

/// The row that forbids an address.
#[must_use]
pub fn forbidden(address: IpAddr) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.holds(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(address: IpAddr, by: i128) -> Option<IpAddr> {
        match address {
            IpAddr::V4(address) => {
                let moved = i128::from(address.to_bits()) + by;
                u32::try_from(moved).ok().map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
            }
            IpAddr::V6(address) => {
                let (bits, by) = (address.to_bits(), by);
                let moved =
                    if by < 0 { bits.checked_sub(by.unsigned_abs()) } else { bits.checked_add(by.unsigned_abs()) };
                moved.map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)))
            }
        }
    }

    fn last(row: &Row) -> IpAddr {
        match row.first {
            IpAddr::V4(first) => {
                let host = u32::MAX.checked_shr(row.bits.into()).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(first.to_bits() | host))
            }
            IpAddr::V6(first) => {
                let host = u128::MAX.checked_shr(row.bits.into()).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(first.to_bits() | host))
            }
        }
    }

    #[test]
    fn every_row_holds_its_first_and_last_address_and_neither_neighbour() {
        for row in ROWS {
            let last = last(row);
            for inside in [row.first, last] {
                assert!(row.holds(inside), "{row:?} holds {inside}");
                assert!(forbidden(inside).is_some(), "{inside}");
            }
            for outside in [shifted(row.first, -1), shifted(last, 1)].into_iter().flatten() {
                assert!(!row.holds(outside), "{row:?} does not hold {outside}");
            }
        }
    }

    #[test]
    fn narrower_rows_come_first_so_that_each_is_reached() {
        for (at, row) in ROWS.iter().enumerate() {
            for earlier in &ROWS[..at] {
                assert!(
                    !(earlier.holds(row.first) && earlier.holds(last(row))),
                    "{row:?} is never reached: {earlier:?}"
                );
            }
        }
    }

    /// Which neighbours of rows are free: written by hand, so that a row that is too wide is seen.
    #[test]
    fn public_neighbours_of_forbidden_blocks_stay_free() {
        for free in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.31.195.255",
            "192.31.197.0",
            "192.52.192.255",
            "192.52.194.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "192.175.47.255",
            "192.175.49.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:200::",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
            "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2003::",
            "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
            "2620:4f:8001::",
            "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff:1000::",
            "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            assert_eq!(forbidden(free.parse().unwrap()), None, "{free}");
        }
    }

    #[test]
    fn what_attackers_name_is_forbidden_by_the_row_that_says_so() {
        for (address, what) in [
            ("127.0.0.1", "loopback"),
            ("::1", "loopback"),
            ("169.254.169.254", "a cloud's metadata"),
            ("100.100.100.200", "carrier-grade NAT"),
            ("192.0.0.192", "protocol assignments"),
            ("fd00:ec2::254", "unique local"),
            ("::ffff:127.0.0.1", "IPv4-mapped"),
            ("::ffff:8.8.8.8", "IPv4-mapped"),
            ("::ffff:0:10.0.0.1", "IPv4-translated"),
            ("::127.0.0.1", "IPv4-compatible"),
            ("64:ff9b::7f00:1", "NAT64"),
            ("64:ff9b:1::a00:1", "local NAT64"),
            ("2002:7f00:1::", "6to4"),
            ("2001:0:7f00:1::", "Teredo"),
            ("fe80::1", "link-local"),
            ("fec0::1", "site-local"),
            ("0.0.0.0", "this network"),
            ("::", "unspecified"),
            ("255.255.255.255", "broadcast"),
            ("224.0.0.1", "multicast"),
            ("ff02::1", "multicast"),
            ("1234::1", "not given out"),
            ("4000::1", "not given out"),
            ("8000::1", "not given out"),
        ] {
            assert_eq!(forbidden(address.parse().unwrap()).map(|row| row.what), Some(what), "{address}");
        }
    }
}
