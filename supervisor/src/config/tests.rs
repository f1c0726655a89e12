use super::*;

fn parse(text: &str) -> Result<Config, Problems> {
    Config::parse(Path::new("/etc/musegate/supervisor.toml"), text)
}

fn problems(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn no_key_names_the_model_or_a_key_to_it() {
    let declared = Config::declare();
    assert!(declared.len() > 50);
    for key in &declared {
        for word in
            ["model", "api_key", "apikey", "credential", "muse", "provider", "prompt", "argv", "exec", "command"]
        {
            assert!(!key.key.contains(word) && !key.section.contains(word), "{}.{}", key.section, key.key);
        }
        let keeps_a_key = key.key.contains("key");
        let ours = [("audit", "key_file"), ("agent", "card_key_file"), ("agent", "card_keys_url")];
        assert!(!keeps_a_key || ours.contains(&(&*key.section, key.key)), "{}.{}", key.section, key.key);
    }
}

#[test]
fn an_empty_file_is_the_defaults_and_they_are_safe() {
    let config = parse("").unwrap();
    assert_eq!(config, Config::defaults(Path::new("/etc/musegate")));
    assert!(config.listen.addresses.iter().all(|address| address.ip().is_loopback()));
    assert_eq!((config.jobs.slots, config.agent.card, config.audit.on_full), (1, CardAccess::Minimal, OnFull::Refuse));
    assert_eq!(config.callers.file, Path::new("/etc/musegate/callers.toml"));
    assert_eq!(config.skills.len(), 1);
}

#[test]
fn the_commented_file_of_defaults_is_a_file_of_settings() {
    let text = musegate_settings::commented_file("head", &Config::declare());
    assert_eq!(parse(&text).unwrap(), parse("").unwrap());
}

#[test]
fn an_address_beyond_loopback_needs_a_second_setting_and_names_to_be_called_by() {
    for address in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80", "[::ffff:192.0.2.1]:80"] {
        let text = format!("[listen]\naddresses = [\"{address}\"]\n");
        let said = problems(&text);
        assert!(said.contains("supervisor.toml:2: listen.addresses: is beyond loopback"), "{said}");
        assert!(said.contains("listen.public_urls: is needed"), "{said}");
        let both = format!("{text}open_to_network = true\npublic_urls = [\"https://agent.example\"]\n");
        assert_eq!(parse(&both).unwrap().open_addresses().count(), 1);
    }
    for address in ["127.0.0.1:0", "[::1]:80", "127.8.8.8:80"] {
        assert!(parse(&format!("[listen]\naddresses = [\"{address}\"]\n")).is_ok());
    }
}

#[test]
fn every_problem_is_told_at_once_with_its_line() {
    let said = problems(
        "[listen]\nmax_body = \"1 PiB\"\nheader_timout = 3\n\n[agent]\ncard = \"secret\"\norganization = \"Us\"\n\n[skills.x]\nname = \"X\"\n\n\
         [jobs]\nslots = 0\n\n[model]\nname = \"x\"\n",
    );
    for part in [
        ":2: listen.max_body: must be",
        ":3: listen.header_timout: is unknown; did you mean listen.header_timeout?",
        ":6: agent.card: must be one of",
        ":7: agent.organization: organization and organization_url go together",
        "skills.x.description: is needed",
        ":13: jobs.slots: must be a whole number from 1 to 1024",
        "model",
    ] {
        assert!(said.contains(part), "{part} in:\n{said}");
    }
}

#[test]
fn a_skill_takes_schemas_that_are_json_objects_and_nothing_else() {
    let skill = |schema: &str| parse(&format!("[skills.x]\ndescription = \"d\"\ninput_schema = '{schema}'\n"));
    assert_eq!(
        skill("{\"type\": \"object\"}").unwrap().skills[0].input_schema.as_deref(),
        Some("{\"type\":\"object\"}")
    );
    assert!(skill("[]").is_err() && skill("{").is_err());
}

#[test]
fn public_urls_are_urls_and_origins_are_origins() {
    let listen = |line: &str| parse(&format!("[listen]\n{line}\n"));
    assert!(listen("public_urls = [\"https://a.example/muse/\", \"http://localhost:1\"]").is_ok());
    for wrong in ["ftp://a", "https://", "a.example", "https://a/?q", "https://u@a/", "https://a/#x"] {
        assert!(listen(&format!("public_urls = [\"{wrong}\"]")).is_err(), "{wrong}");
    }
    assert!(listen("origins = [\"https://a.example:8443\"]\nhosts = [\"a.example\", \"::1\"]").is_ok());
    for wrong in ["a.example", "https://a/path", "null", "https://u@a"] {
        assert!(listen(&format!("origins = [\"{wrong}\"]")).is_err(), "{wrong}");
    }
    assert!(listen("hosts = [\"a:80\"]").is_err());
}
