//! A way to a PostgreSQL server on which a test may do harm.

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// The server's end of a connection.
pub type ServerEnd = Box<dyn Duplex>;

pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// Another address of the server at `address`. Each connection there is handed to `pass_on` with one to the server.
pub async fn relay<F>(address: &str, pass_on: impl Fn(TcpStream, ServerEnd) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let server: PgConnectOptions = address.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (before, _) = address.split_once('?').unwrap_or((address, ""));
    let (user, place) = before.rsplit_once('@').unwrap();
    let (_, database) = place.split_once('/').unwrap();
    let relayed = format!("{user}@{}/{database}?sslmode=disable", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            // One that has crashed is not there for a moment.
            if let Ok(end) = server_end(&server).await {
                tokio::spawn(pass_on(client, end));
            }
        }
    });
    relayed
}

async fn server_end(server: &PgConnectOptions) -> std::io::Result<ServerEnd> {
    Ok(match server.get_socket() {
        Some(folder) => Box::new(UnixStream::connect(folder.join(format!(".s.PGSQL.{}", server.get_port()))).await?),
        None => Box::new(TcpStream::connect((server.get_host(), server.get_port())).await?),
    })
}
