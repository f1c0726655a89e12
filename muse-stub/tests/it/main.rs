//! The stand-in, run as a program.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod job;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod records;
#[cfg(test)]
mod sights;
