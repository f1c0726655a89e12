//! sandbox profiles
