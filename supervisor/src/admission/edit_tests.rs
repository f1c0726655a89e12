use super::*;
use std::os::unix::fs::PermissionsExt;

fn label(name: &str) -> Label {
    Label::new(name).unwrap()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("callers.toml");
    (folder, file)
}

#[test]
fn what_stands_in_the_file_stays_as_it_is_but_for_the_change() {
    let (_folder, file) = place();
    let before = "# mine\n[callers.hermes] # a peer\nbusy = \"wait\" # patient\n\n[callers.\"a.b\"]\nhistory = false\n";
    fs::write(&file, before).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let made = add(&file, &label("hermes"), None).unwrap();
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(before), "{after}");
    assert_eq!(after.matches("[callers.hermes]").count(), 1);
    assert_eq!(revoke(&file, &made.id).unwrap(), [made.id.to_string()]);
    assert_eq!(fs::read_to_string(&file).unwrap().trim_end(), before.trim_end());
}

#[test]
fn a_new_file_begins_with_what_it_is_and_is_private() {
    let (folder, file) = place();
    add(&file, &label("hermes"), None).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# Who may call this agent."), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == ".callers.toml.new"), "{names:?}");
}

#[test]
fn rotation_leaves_the_old_token_alive_for_the_overlap_only() {
    let (_folder, file) = place();
    let first = add(&file, &label("hermes"), None).unwrap();
    add(&file, &label("other"), None).unwrap();
    let second = rotate(&file, &label("hermes"), Duration::from_secs(3600), None).unwrap();
    let entries = list(&file).unwrap();
    let of = |id: &Label| entries.iter().find(|entry| entry.id == *id).unwrap().clone();
    let left = of(&first.id).expires.unwrap() - of(&second.id).created.unwrap();
    assert!(left.abs_diff(Duration::from_secs(3600)) < Duration::from_secs(2), "{left:?}");
    assert_eq!(of(&second.id).expires, None);
    assert!(entries.iter().filter(|entry| &*entry.caller == "other").all(|entry| entry.expires.is_none()));
    // A shorter end that was set before is not put off.
    rotate(&file, &label("hermes"), Duration::from_secs(864_000), None).unwrap();
    let again = list(&file).unwrap();
    assert_eq!(again.iter().find(|entry| entry.id == first.id).unwrap().expires, of(&first.id).expires);
    assert!(matches!(rotate(&file, &label("nobody"), Duration::ZERO, None), Err(EditError::Unknown(_))));
}

#[test]
fn revoking_a_caller_removes_all_of_its_tokens_and_keeps_its_grant() {
    let (_folder, file) = place();
    let ids = [add(&file, &label("hermes"), None).unwrap().id, add(&file, &label("hermes"), None).unwrap().id];
    let kept = add(&file, &label("other"), None).unwrap().id;
    let mut gone = revoke(&file, &label("hermes")).unwrap();
    gone.sort();
    let mut wanted = ids.map(|id| id.to_string());
    wanted.sort();
    assert_eq!(gone, wanted);
    assert_eq!(list(&file).unwrap().into_iter().map(|entry| entry.id).collect::<Vec<_>>(), [kept]);
    assert!(fs::read_to_string(&file).unwrap().contains("[callers.hermes]"));
    assert!(matches!(revoke(&file, &label("nobody")), Err(EditError::Unknown(_))));
}

#[test]
fn a_file_with_problems_is_not_touched() {
    let (_folder, file) = place();
    fs::write(&file, "[callers.x]\nbusy = 3\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(add(&file, &label("y"), None), Err(EditError::Problems(_))));
    assert_eq!(fs::read_to_string(&file).unwrap(), "[callers.x]\nbusy = 3\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(add(&file, &label("y"), None), Err(EditError::Refused(Refused::Mode { .. }))));
}

#[test]
fn sections_in_braces_are_spelled_out_when_a_token_comes() {
    let (_folder, file) = place();
    fs::write(&file, "callers = { hermes = { history = false } }\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    add(&file, &label("hermes"), None).unwrap();
    let callers = Callers::load(&file).unwrap();
    assert!(!callers.callers().next().unwrap().grant.history);
    assert_eq!(callers.tokens().count(), 1);
}

#[test]
fn changes_at_once_do_not_lose_one() {
    let (_folder, file) = place();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let file = &file;
            scope.spawn(move || add(file, &label(&format!("caller{n}")), None).unwrap());
        }
    });
    assert_eq!(list(&file).unwrap().len(), 8);
}

#[test]
fn a_token_made_elsewhere_is_taken_when_it_can_be_random_and_only_its_digest_is_kept() {
    let (_folder, file) = place();
    let take = |text: &str| import(&file, &label("hermes"), Zeroizing::new(text.to_owned()), None);
    let clear = "d41d8cd98f00b204e9800998ecf8427e";
    let made = take(clear).unwrap();
    assert!(!fs::read_to_string(&file).unwrap().contains(clear));
    let callers = Callers::load(&file).unwrap();
    assert!(callers.may_be_token(clear.as_bytes()) && callers.tokens().all(|entry| entry.foreign));
    for wrong in ["short-0123456789abcdef", &"ab".repeat(20), "0123456789abcdef 0123456789abcdef", &"0aZ-".repeat(200)]
    {
        assert!(matches!(take(wrong), Err(EditError::Foreign(_))), "{wrong}");
    }
    // Where none was made elsewhere, what has not our form is nobody's token, whatever its digest.
    revoke(&file, &made.id).unwrap();
    add(&file, &label("hermes"), None).unwrap();
    assert!(!Callers::load(&file).unwrap().may_be_token(clear.as_bytes()));
}
