//! What is enforced on the worker's machine, as the worker says it in its hello. A set of bits, so that a new layer costs
//! no new shape; what each word promises and which test holds it is in docs/SPECIFICATION.md.

use bincode::{Decode, Encode};

/// Which layers hold on this machine. The two sets are disjoint; a layer in neither does not apply to this system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Report {
    /// Layers that were applied and checked.
    pub holds: Layers,
    /// Layers that are missing although this system could have them.
    pub lacks: Layers,
    /// ABI of Landlock, 0: none.
    pub landlock_abi: u8,
}

impl Report {
    /// Missing layers that none of these excuses.
    #[must_use]
    pub fn missing(&self, allowed: &[Layer]) -> Vec<Layer> {
        self.lacks.iter().filter(|layer| !allowed.contains(layer)).collect()
    }
}

/// Names layers, each with what can happen without it.
#[must_use]
pub fn losses(layers: &[Layer]) -> String {
    layers
        .iter()
        .map(|layer| format!("{} (without it {})", layer.word(), layer.without()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A set of [`Layer`]s, as a bit mask. Unknown bits are kept and shown as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Layers(pub u64);

impl Layers {
    /// With one more.
    #[must_use]
    pub const fn with(self, layer: Layer) -> Self {
        Self(self.0 | 1 << layer as u8)
    }

    /// Whether a layer is among them.
    #[must_use]
    pub const fn has(self, layer: Layer) -> bool {
        self.0 & (1 << layer as u8) != 0
    }

    /// Those of these words that are layers.
    #[must_use]
    pub fn of_words(words: &[&str]) -> Self {
        words.iter().filter_map(|word| Layer::of_word(word)).fold(Self::default(), Self::with)
    }

    /// The known layers among them, in the order of [`Layer::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Layer> {
        Layer::ALL.into_iter().filter(move |layer| self.has(*layer))
    }
}

/// One mechanism of confinement of a job or of the worker. The number is its bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Layer {
    /// Supervisor, worker and the operator have different uids.
    UidSeparation = 0,
    /// A job's whole tree dies by the end of its pid namespace.
    KillByPidNamespace = 1,
    /// A job's whole tree dies by a kill(-1) that a Landlock domain bounds.
    KillByLandlock = 2,
    /// A job's whole tree dies by `cgroup.kill`.
    KillByCgroup = 3,
    /// `no_new_privs`.
    NoNewPrivileges = 4,
    /// All capability sets are empty.
    NoCapabilities = 5,
    /// Resource limits.
    ResourceLimits = 6,
    /// Landlock: files.
    LandlockFiles = 7,
    /// Landlock: TCP ports.
    LandlockTcp = 8,
    /// Landlock: signals and abstract sockets.
    LandlockScope = 9,
    /// seccomp filter.
    Seccomp = 10,
    /// User namespace.
    UserNamespace = 11,
    /// Mount namespace with a bounded tmpfs as scratch folder.
    BoundedScratch = 12,
    /// IPC namespace.
    IpcNamespace = 13,
    /// Memory and environment are closed to processes of the same uid.
    NotDumpable = 14,
    /// No descriptor is inherited.
    ClosedDescriptors = 15,
    /// macOS Seatbelt profile.
    Seatbelt = 16,
}

impl Layer {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::UidSeparation,
        Self::KillByPidNamespace,
        Self::KillByLandlock,
        Self::KillByCgroup,
        Self::NoNewPrivileges,
        Self::NoCapabilities,
        Self::ResourceLimits,
        Self::LandlockFiles,
        Self::LandlockTcp,
        Self::LandlockScope,
        Self::Seccomp,
        Self::UserNamespace,
        Self::BoundedScratch,
        Self::IpcNamespace,
        Self::NotDumpable,
        Self::ClosedDescriptors,
        Self::Seatbelt,
    ];

    /// The layer of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.word() == word)
    }

    /// What can happen where it is missing, a lowercase fragment.
    #[must_use]
    pub const fn without(self) -> &'static str {
        match self {
            Self::UidSeparation => "programs of the same user can read the credential and trace both processes",
            Self::KillByPidNamespace | Self::KillByLandlock | Self::KillByCgroup => {
                "a job may leave processes behind that nothing ends"
            }
            Self::NoNewPrivileges => "a setuid program may give privileges back",
            Self::NoCapabilities => "privileges of root are left",
            Self::ResourceLimits => "one process may use up the processor, the disk and the descriptors",
            Self::LandlockFiles => "every file of the user can be read and written",
            Self::LandlockTcp => "every host and port can be connected to, and any port listened on",
            Self::LandlockScope => "other processes of the user can be signalled",
            Self::Seccomp => "system calls that lead around the other layers are open",
            Self::UserNamespace => "a job has the user's own ids",
            Self::BoundedScratch => "a job may fill the file system of the scratch folder",
            Self::IpcNamespace => "a job can reach shared memory and queues of the user",
            Self::NotDumpable => "programs of the same user can read its memory",
            Self::ClosedDescriptors => "open files of the worker are handed on to jobs",
            Self::Seatbelt => "nothing bounds files, network and signals",
        }
    }

    /// The word used for it in settings (`allow_weak`), in `status`, and in the documentation.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::UidSeparation => "uid-separation",
            Self::KillByPidNamespace => "kill-by-pid-namespace",
            Self::KillByLandlock => "kill-by-landlock",
            Self::KillByCgroup => "kill-by-cgroup",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::NoCapabilities => "no-capabilities",
            Self::ResourceLimits => "resource-limits",
            Self::LandlockFiles => "landlock-files",
            Self::LandlockTcp => "landlock-tcp",
            Self::LandlockScope => "landlock-scope",
            Self::Seccomp => "seccomp",
            Self::UserNamespace => "user-namespace",
            Self::BoundedScratch => "bounded-scratch",
            Self::IpcNamespace => "ipc-namespace",
            Self::NotDumpable => "not-dumpable",
            Self::ClosedDescriptors => "closed-descriptors",
            Self::Seatbelt => "seatbelt",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit and word of each layer are said to other programs and written in settings: they never change.
    #[test]
    fn each_layer_keeps_its_bit_and_its_word() {
        let table = "0 uid-separation, 1 kill-by-pid-namespace, 2 kill-by-landlock, 3 kill-by-cgroup, \
            4 no-new-privileges, 5 no-capabilities, 6 resource-limits, 7 landlock-files, 8 landlock-tcp, \
            9 landlock-scope, 10 seccomp, 11 user-namespace, 12 bounded-scratch, 13 ipc-namespace, \
            14 not-dumpable, 15 closed-descriptors, 16 seatbelt";
        let ours = Layer::ALL.map(|layer| format!("{} {}", layer as u8, layer.word()));
        assert_eq!(ours.join(", "), table);
    }

    #[test]
    fn a_set_holds_what_was_put_into_it() {
        for layer in Layer::ALL {
            let one = Layers::default().with(layer);
            assert_eq!(one.0, 1 << layer as u8);
            assert_eq!(one.iter().collect::<Vec<_>>(), [layer]);
            assert!(Layer::ALL.iter().all(|other| one.has(*other) == (*other == layer)));
        }
        assert!(Layer::ALL.iter().all(|layer| Layer::of_word(layer.word()) == Some(*layer)));
        assert_eq!(Layers::of_words(&["seccomp", "nonsense"]), Layers::default().with(Layer::Seccomp));
        let all = Layer::ALL.into_iter().fold(Layers::default(), Layers::with);
        assert_eq!((all.0, all.iter().count()), ((1 << 17) - 1, 17));
        assert_eq!(Layers(u64::MAX).iter().count(), 17, "unknown bits are no layers");
    }
}
