//! The boundary seen from outside: its bytes, their bounds, and what its types can say.
//! Made by hand: `sample`; made at random: `random`.

#![expect(
    clippy::disallowed_methods,
    reason = "the crate reads no files; its tests read recorded bytes and its source"
)]

#[cfg(test)]
mod bombs;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod random;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod vocabulary;
