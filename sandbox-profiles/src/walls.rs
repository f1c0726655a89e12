//! What a daemon puts around itself, and what of it holds.

/// Layers by their words in the settings, as in `musegate_protocol::message::Layer::word`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walls {
    /// Applied and checked.
    pub holds: Vec<&'static str>,
    /// Missing although this system could have them.
    pub lacks: Vec<&'static str>,
    /// ABI of Landlock, 0: none.
    pub landlock_abi: u8,
}

impl Walls {
    /// Notes one layer.
    pub(crate) fn note(&mut self, layer: &'static str, held: bool) {
        if held { &mut self.holds } else { &mut self.lacks }.push(layer);
    }

    /// With those of a later step.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.holds.extend(later.holds);
        self.lacks.extend(later.lacks);
        self.landlock_abi = self.landlock_abi.max(later.landlock_abi);
        self
    }
}

/// What both daemons do first: no new privileges, closed memory, no core.
///
/// # Errors
/// As prctl(2), setrlimit(2).
pub(crate) fn give_up_privileges(walls: &mut Walls) -> std::io::Result<()> {
    crate::set_not_dumpable()?;
    walls.note("not-dumpable", true);
    #[cfg(target_os = "linux")]
    {
        nix::sys::prctl::set_no_new_privs()?;
        walls.note("no-new-privileges", true);
    }
    Ok(())
}

/// Enters a domain where there is Landlock, and checks with the root folder, which no daemon of ours needs to list.
#[cfg(target_os = "linux")]
pub(crate) fn enter(walls: &mut Walls, domain: Option<crate::landlock::Domain>) -> std::io::Result<()> {
    use crate::landlock::{FILES_SINCE, SCOPE_SINCE, TCP_SINCE, abi};
    walls.landlock_abi = abi();
    let entered = match &domain {
        Some(domain) => {
            domain.enter()?;
            domain.lists_root() || std::fs::read_dir("/").is_err()
        }
        None => false,
    };
    walls.note("landlock-files", entered && walls.landlock_abi >= FILES_SINCE);
    walls.note("landlock-tcp", entered && walls.landlock_abi >= TCP_SINCE);
    walls.note("landlock-scope", entered && walls.landlock_abi >= SCOPE_SINCE);
    Ok(())
}
