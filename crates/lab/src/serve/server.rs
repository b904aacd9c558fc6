//! The server: threads that accept connections until the handle is dropped.

use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch as signal;

use super::addresses::{bind, bind_all, count_for};
use super::handle::Handle;
use super::options::{Options, ServeError};
use super::shared::{Counted, Shared};
use super::web::Web;
use super::{arrival, connection, control};

/// How long open answers may take when the server stops.
const STOP_MS: u64 = 200;

/// Starts to serve a web on loopback.
pub fn start(web: Web, options: Options) -> Result<Handle, ServeError> {
    if web.host_count() == 0 {
        return Err(ServeError::NoHost);
    }
    let addresses = count_for(web.host_count(), options.naming);
    let (listeners, port) = bind_all(addresses, options.port)?;
    let control = match options.control {
        false => None,
        true => Some(bind(Ipv4Addr::LOCALHOST, 0)?),
    };
    let control_port = match &control {
        None => None,
        Some(listener) => Some(listener.local_addr().map_err(ServeError::Runtime)?.port()),
    };
    let (stop, stopped) = signal::channel(false);
    let threads = options.threads;
    let shared = Arc::new(Shared::new(web, options, port, stopped)?);
    if shared.judges_time() {
        listeners.iter().for_each(arrival::stamp);
        arrival::wait_for_stamps();
    }
    let (ready, is_ready) = mpsc::channel();
    let running = shared.clone();
    let run = move || run(&running, threads, listeners, control, &ready);
    let thread = std::thread::Builder::new()
        .name("serve-web".to_owned())
        .spawn(run);
    let handle = Handle {
        shared,
        port,
        control: control_port,
        stop,
        thread: Some(thread.map_err(ServeError::Runtime)?),
    };
    match is_ready.recv() {
        Ok(started) => started.map(|()| handle).map_err(ServeError::Runtime),
        Err(_) => Err(ServeError::Runtime(io::Error::other(
            "the server thread died",
        ))),
    }
}

fn run(
    shared: &Arc<Shared>,
    threads: usize,
    listeners: Vec<StdListener>,
    control: Option<StdListener>,
    ready: &mpsc::Sender<io::Result<()>>,
) {
    let runtime = match threads {
        0 | 1 => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build(),
        _ => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build(),
    };
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    runtime.block_on(async {
        let started = spawn_all(shared, listeners, control);
        let failed = started.is_err();
        let _ = ready.send(started);
        if failed {
            return;
        }
        let mut stop = shared.stop.clone();
        let _ = stop.wait_for(|stop| *stop).await;
        let grace = Instant::now() + Duration::from_millis(STOP_MS);
        while shared.connections.load(Ordering::Acquire) > 0 && Instant::now() < grace {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    runtime.shutdown_background();
}

fn spawn_all(
    shared: &Arc<Shared>,
    listeners: Vec<StdListener>,
    control: Option<StdListener>,
) -> io::Result<()> {
    for (number, listener) in listeners.into_iter().enumerate() {
        let listener = TcpListener::from_std(listener)?;
        tokio::spawn(accept(shared.clone(), listener, number as u32));
    }
    if let Some(listener) = control {
        tokio::spawn(control::accept(
            shared.clone(),
            TcpListener::from_std(listener)?,
        ));
    }
    Ok(())
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, address: u32) {
    let mut stop = shared.stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => return,
        };
        let Ok((stream, _)) = accepted else {
            // Out of files, most likely: let some connections end.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let guard = Counted::new(&shared);
        if guard.number > shared.connections_max || shared.is_halted() {
            // Dropping it says so without spending anything on it.
            continue;
        }
        let shared = shared.clone();
        tokio::spawn(async move {
            connection::serve(shared, stream, address).await;
            drop(guard);
        });
    }
}
