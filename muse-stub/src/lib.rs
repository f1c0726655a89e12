//! muse-stub
