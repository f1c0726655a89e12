//! The worker at work: who connects, which supervisor counts, and how it all ends.
//!
//! Promises: one supervisor at a time, and a newer one takes over only after its complete hello, so that somebody who
//! merely connects disturbs nobody; after the order to stop, no job is admitted, running ones get their time, and the
//! function returns when the last of their processes is gone.

use crate::greet::{Greeting, greet};
use crate::notify::Manager;
use crate::session::{Session, Wish};
use crate::worker::Worker;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Connections without a hello that are waited for at once.
const PENDING: usize = 4;
/// Pause after an accept that failed, which happens when there are no descriptors left.
const BREATH: Duration = Duration::from_millis(100);

/// Serves until `shutdown`, then drains.
pub(crate) async fn serve(
    worker: Arc<Worker>,
    listener: UnixListener,
    supervisor: u32,
    manager: &Manager,
    shutdown: impl Future<Output = ()>,
) {
    let mut door = Door::new(Arc::clone(&worker), supervisor);
    let mut current: Option<Current> = None;
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => door.knock(stream),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept");
                    sleep(BREATH).await;
                }
            },
            greeting = door.greeted() => {
                if let Some(old) = current.take() {
                    tracing::info!("a newer supervisor takes over");
                    old.wish.send_replace(Wish::Yield);
                }
                current = Some(Current::new(&worker, greeting));
            }
            () = manager.beat() => {}
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    manager.stopping();
    drain(&worker, current, manager).await;
}

/// The supervisor that counts.
struct Current {
    wish: watch::Sender<Wish>,
    session: JoinHandle<()>,
}

impl Current {
    fn new(worker: &Arc<Worker>, greeting: Greeting) -> Self {
        let (wish, hears) = watch::channel(Wish::Serve);
        let session = tokio::spawn(Session::new(Arc::clone(worker), greeting, hears).run());
        Self { wish, session }
    }
}

/// Those who have connected and not said hello yet.
struct Door {
    worker: Arc<Worker>,
    supervisor: u32,
    waiting: Arc<Semaphore>,
    says: mpsc::Sender<Greeting>,
    hears: mpsc::Receiver<Greeting>,
}

impl Door {
    fn new(worker: Arc<Worker>, supervisor: u32) -> Self {
        let (says, hears) = mpsc::channel(PENDING);
        Self { worker, supervisor, waiting: Arc::new(Semaphore::new(PENDING)), says, hears }
    }

    fn knock(&self, stream: UnixStream) {
        let Ok(place) = Arc::clone(&self.waiting).try_acquire_owned() else {
            tracing::debug!("too many connections without a hello");
            return;
        };
        let (says, supervisor, us) = (self.says.clone(), self.supervisor, self.worker.instance);
        tokio::spawn(async move {
            let _place = place;
            match greet(stream, supervisor, us).await {
                Ok(greeting) => drop(says.send(greeting).await),
                Err(stranger) => tracing::warn!(%stranger, "connection refused"),
            }
        });
    }

    async fn greeted(&mut self) -> Greeting {
        match self.hears.recv().await {
            Some(greeting) => greeting,
            // Not while `says` lives.
            None => std::future::pending().await,
        }
    }
}

/// No new jobs; the running ones get their time, then the ladder.
async fn drain(worker: &Worker, current: Option<Current>, manager: &Manager) {
    worker.stop();
    let wish = |wish| {
        if let Some(current) = &current {
            current.wish.send_replace(wish);
        }
    };
    wish(Wish::Drain);
    tracing::info!(jobs = worker.running(), "draining");
    let idle = manager.beating(worker.idle());
    if timeout(worker.config.jobs.drain, idle).await.is_err() {
        tracing::warn!(jobs = worker.running(), "jobs are ended");
        wish(Wish::Stop);
        manager.beating(worker.idle()).await;
    }
    if let Some(current) = current {
        let _ = current.session.await;
    }
}
