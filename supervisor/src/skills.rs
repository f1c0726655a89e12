//! Declared skills: which one a message is for, and what it takes and gives.
//!
//! Promises: input that violates a skill's schema starts no job; a schema that cannot be read lets nothing through.
//! Refuses to know how a schema is checked.

use crate::a2a::{Content, Json, Message};
use crate::admission::Grant;
use crate::config::{Config, Skill};
use crate::refusal::Refusal;
use crate::schema::Schema;
use musegate_protocol::bounded::Text;
use serde_json::Value;
use std::sync::Arc;

/// A skill, ready to be checked against.
#[derive(Debug)]
pub struct Ready {
    /// As it was declared.
    pub skill: Skill,
    input: Option<Schema>,
    output: Option<Arc<Output>>,
}

/// What a skill's answer must satisfy.
#[derive(Debug)]
pub struct Output {
    /// For the worker, which may tell the model.
    pub text: Text<32768>,
    /// For us.
    pub schema: Schema,
}

/// All skills.
#[derive(Debug)]
pub struct Skills(Vec<Ready>);

impl Skills {
    /// Of the settings, where their schemas were checked.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let read = |text: &String| Schema::parse(text).unwrap_or_else(|_| Schema::nothing());
        let ready = |skill: &Skill| Ready {
            skill: skill.clone(),
            input: skill.input_schema.as_ref().map(read),
            output: skill.output_schema.as_ref().map(|text| {
                let schema = read(text);
                Arc::new(Output { text: Text::cut(text), schema })
            }),
        };
        Self(config.skills.iter().map(ready).collect())
    }

    /// The skill that a message is for: the one that it names (`metadata.skill`), else the only one that its caller may
    /// use, else none in particular.
    ///
    /// # Errors
    /// [`Refusal::InvalidParams`] for a skill that is not declared, or when a caller that may not use all skills names
    /// none; [`Refusal::Forbidden`] for one that the caller may not use.
    pub fn pick(&self, message: &Message, grant: &Grant) -> Result<Option<&Ready>, Refusal> {
        if let Some(name) = named(message) {
            let found = self.0.iter().find(|ready| ready.skill.id == name);
            let found = found.ok_or_else(|| invalid("message.metadata.skill", "is no skill of this agent"))?;
            return if grant.may_use(&name) { Ok(Some(found)) } else { Err(Refusal::Forbidden("this skill")) };
        }
        let mut usable = self.0.iter().filter(|ready| grant.may_use(&ready.skill.id));
        match (usable.next(), usable.next()) {
            (Some(only), None) => Ok(Some(only)),
            _ if grant.skills.is_empty() => Ok(None),
            (None, _) => Err(Refusal::Forbidden("any skill")),
            _ => Err(invalid("message.metadata.skill", "must name one of the skills that you may use")),
        }
    }
}

impl Ready {
    /// What the answer must satisfy.
    #[must_use]
    pub const fn output(&self) -> Option<&Arc<Output>> {
        self.output.as_ref()
    }

    /// Whether a cleaned message has what the skill takes: with an input schema, data parts that all satisfy it, and at
    /// least one.
    ///
    /// # Errors
    /// [`Refusal::InvalidParams`] with the part and what is wrong with it.
    pub fn takes(&self, message: &Message) -> Result<(), Refusal> {
        let Some(schema) = &self.input else { return Ok(()) };
        let mut any = false;
        for (at, part) in message.parts.iter().enumerate() {
            let Content::Data(Json(text)) = &part.content else { continue };
            let field = format!("message.parts[{at}].data");
            let value: Value = serde_json::from_str(text).map_err(|_| invalid(&field, "is no JSON value"))?;
            schema.check(&value).map_err(|violation| invalid(&field, &violation.to_string()))?;
            any = true;
        }
        if any { Ok(()) } else { Err(invalid("message.parts", "a data part is needed: this skill declares its input")) }
    }
}

fn named(message: &Message) -> Option<String> {
    let metadata: Value = serde_json::from_str(&message.metadata.as_ref()?.0).ok()?;
    let name = metadata.get("skill").or_else(|| metadata.get("skillId"))?;
    name.as_str().map(str::to_owned)
}

fn invalid(field: &str, what: &str) -> Refusal {
    Refusal::InvalidParams { field: field.to_owned(), what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::{MessageId, Part, Role};
    use std::path::Path;

    fn skills() -> Skills {
        let schema = r#"'{"type":"object","required":["n"]}'"#;
        let text =
            format!("[skills.sum]\ndescription = \"s\"\ninput_schema = {schema}\n[skills.chat]\ndescription = \"c\"\n");
        Skills::new(&Config::parse(Path::new("/f"), &text).unwrap())
    }

    fn message(metadata: Option<&str>, parts: Vec<Part>) -> Message {
        Message {
            message_id: MessageId("m".into()),
            context_id: None,
            task_id: None,
            role: Role::User,
            parts,
            metadata: metadata.map(|text| Json(text.into())),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    fn grant(skills: &[&str]) -> Grant {
        Grant { skills: skills.iter().map(|id| (*id).to_owned()).collect(), ..Grant::default() }
    }

    #[test]
    fn a_skill_is_named_or_the_only_one_that_the_caller_may_use() {
        let skills = skills();
        let pick = |metadata: Option<&str>, grant: &Grant| {
            let picked = skills.pick(&message(metadata, Vec::new()), grant);
            picked.map(|ready| ready.map(|ready| ready.skill.id.clone()))
        };
        assert_eq!(pick(None, &grant(&[])).unwrap(), None);
        assert_eq!(pick(None, &grant(&["chat"])).unwrap().as_deref(), Some("chat"));
        assert_eq!(pick(Some(r#"{"skill":"sum"}"#), &grant(&[])).unwrap().as_deref(), Some("sum"));
        assert_eq!(pick(Some(r#"{"skillId":"sum"}"#), &grant(&["sum", "chat"])).unwrap().as_deref(), Some("sum"));
        assert_eq!(pick(Some(r#"{"skill":"sum"}"#), &grant(&["chat"])), Err(Refusal::Forbidden("this skill")));
        assert_eq!(pick(None, &grant(&["gone"])), Err(Refusal::Forbidden("any skill")));
        assert!(matches!(pick(Some(r#"{"skill":"x"}"#), &grant(&[])), Err(Refusal::InvalidParams { .. })));
        assert!(matches!(pick(None, &grant(&["sum", "chat"])), Err(Refusal::InvalidParams { .. })));
    }

    #[test]
    fn declared_input_is_checked_in_every_data_part() {
        let skills = skills();
        let sum = &skills.0.iter().find(|ready| ready.skill.id == "sum").unwrap();
        let data = |text: &str| Part { content: Content::Data(Json(text.into())), ..Part::text("") };
        assert_eq!(sum.takes(&message(None, vec![Part::text("x"), data(r#"{"n":1}"#)])), Ok(()));
        let two = sum.takes(&message(None, vec![data(r#"{"n":1}"#), data("[]")])).unwrap_err();
        assert_eq!(two, invalid("message.parts[1].data", "must be object"));
        assert!(sum.takes(&message(None, vec![Part::text("x")])).is_err());
    }

    #[test]
    fn a_schema_that_cannot_be_read_lets_nothing_through() {
        assert!(Schema::nothing().check(&Value::Null).is_err());
    }
}
