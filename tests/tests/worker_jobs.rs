//! A job through a real worker: what comes back, and how each way of failing is told.

use musegate_protocol::message::{End, EndedBy, Progress};
use musegate_tests::programs;
use musegate_tests::worker_bench::{Settings, Worker};

#[tokio::test]
async fn an_answer_comes_back_with_its_story() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let (heard, outcome) = supervisor.run("@stub tool=search answer=\"Only notes/harbour.txt.\"").await;
    assert_eq!(heard.text, "Only notes/harbour.txt.");
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(outcome.ended_by, EndedBy::Itself);
    assert_eq!(outcome.output_bytes, heard.text.len() as u64);
    assert_eq!(heard.progress.first(), Some(&Progress::Started));
    assert!(worker.scratch().is_empty());
}
