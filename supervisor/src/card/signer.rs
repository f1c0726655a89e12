//! The key with which cards are signed, from its private file.

use super::jws::{self, SigningKey};
use crate::config::Agent;
use musegate_settings::private::{self, Rule};
use musegate_settings::{Problem, Problems};
use serde_json::Value;

/// Largest file of a key, bytes.
const MAX_FILE: u64 = 16 * 1024;

/// Signs cards.
#[derive(Debug)]
pub struct Signer {
    key: SigningKey,
    jku: Option<String>,
}

impl Signer {
    /// As the settings say; `None`: cards are not signed.
    ///
    /// # Errors
    /// [`Problems`]: the file cannot be read, others can read it, or there is no key in it.
    pub fn open(agent: &Agent) -> Result<Option<Self>, Problems> {
        let Some(file) = &agent.card_key_file else { return Ok(None) };
        let problem = |what: String| {
            let what = what.strip_prefix(&format!("{}: ", file.display())).unwrap_or(&what).to_owned();
            Problems(vec![Problem { file: file.clone(), line: 0, key: String::new(), what }])
        };
        let text = private::read(file, Rule::Secret, MAX_FILE).map_err(|refused| problem(refused.to_string()))?;
        let key = SigningKey::parse(&text).map_err(|error| problem(error.to_string()))?;
        Ok(Some(Self { key, jku: agent.card_keys_url.clone() }))
    }

    /// Adds signatures to a card.
    pub(super) fn sign(&self, card: &mut Value) {
        jws::sign(card, &self.key, self.jku.as_deref());
    }
}
