//! TLS 1.3 over TCP.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use super::{Credentials, Interest, Patience, Spin, Stream, Tcp};

/// Bytes that are taken before they have been sent.
const BUFFERED: usize = 512 << 10;

/// Bytes that are received at once, at most.
const ROOM: usize = 64 << 10;

/// A protected connection.
pub struct Tls {
    tcp: Tcp,
    protected: Mutex<Protected>,
}

/// What protects a connection, and what has arrived on it that was not looked at yet. It is received in large pieces:
/// the library, left alone, asks for so little at a time that a page takes two calls.
struct Protected {
    connection: Connection,
    arrived: Box<[u8]>,
    start: usize,
    end: usize,
}

/// Where a connection's bytes go.
struct Wire<'a>(&'a Tcp);

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.send(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why who is at the other end will not do, or will not have us, in words of the options.
fn bad(error: rustls::Error) -> io::Error {
    use rustls::{AlertDescription as Alert, CertificateError as Certificate, Error};
    let text = match &error {
        // The other authority may have the name of the one that is known.
        Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "it has another secret (--psk), or a certificate of another authority (--tls-ca)"
        }
        Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Error::AlertReceived(Alert::CertificateExpired) => {
            "it says that our certificate (--tls-cert) has expired"
        }
        Error::AlertReceived(
            Alert::UnknownCA | Alert::CertificateUnknown | Alert::DecryptError,
        ) => {
            "it knows neither our secret (--psk) nor the authority of our certificate (--tls-cert)"
        }
        Error::AlertReceived(Alert::HandshakeFailure) => {
            "it wants other credentials: --psk, or --tls-ca, --tls-cert and --tls-key"
        }
        _ => return io::Error::new(io::ErrorKind::InvalidData, error),
    };
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl Tls {
    /// Protects a connection to the node called `name`.
    ///
    /// # Errors
    /// If one side is not whom the other one takes, or it takes longer than the patience is.
    pub fn connect(
        tcp: Tcp,
        credentials: &Credentials,
        name: &str,
        patience: Patience,
    ) -> io::Result<Self> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let connection =
            ClientConnection::new(Arc::clone(&credentials.client), name).map_err(bad)?;
        Self::shake_hands(tcp, connection.into(), patience)
    }

    /// Protects a connection that a client has made.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn accept(tcp: Tcp, credentials: &Credentials, patience: Patience) -> io::Result<Self> {
        let server = credentials.server.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        let connection = ServerConnection::new(Arc::clone(server)).map_err(bad)?;
        Self::shake_hands(tcp, connection.into(), patience)
    }

    fn shake_hands(tcp: Tcp, mut connection: Connection, patience: Patience) -> io::Result<Self> {
        connection.set_buffer_limit(Some(BUFFERED));
        let arrived = vec![0; ROOM].into_boxed_slice();
        let mut protected = Protected { connection, arrived, start: 0, end: 0 };
        let mut spin = Spin::new(patience);
        while protected.connection.is_handshaking() || protected.connection.wants_write() {
            let sends = protected.connection.wants_write();
            let done = if sends {
                protected.connection.write_tls(&mut Wire(&tcp))
            } else {
                protected.receive_packets(&tcp)
            };
            match done {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    spin.pause(&tcp, if sends { Interest::Send } else { Interest::Receive })?;
                }
                Err(error) => {
                    // The other side is told why, if it still listens.
                    let _ = protected.connection.write_tls(&mut Wire(&tcp));
                    return Err(error);
                }
            }
        }
        Ok(Self { tcp, protected: Mutex::new(protected) })
    }

    fn lock(&self) -> MutexGuard<'_, Protected> {
        self.protected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Protected {
    /// Looks at some of what has arrived; 0 if the other side hung up.
    fn receive_packets(&mut self, tcp: &Tcp) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.end = tcp.receive(&mut [IoSliceMut::new(&mut self.arrived)])?;
        }
        let taken = self.connection.read_tls(&mut &self.arrived[self.start..self.end])?;
        self.start += taken;
        self.connection.process_new_packets().map_err(bad)?;
        Ok(taken)
    }

    /// Sends all that waits to be sent.
    fn send_packets(&mut self, tcp: &Tcp) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Wire(tcp))?;
        }
        Ok(())
    }
}

impl Stream for Tls {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let protected = &mut *self.lock();
        let taken = protected.connection.writer().write_vectored(parts)?;
        match protected.send_packets(&self.tcp) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            Err(error) if taken == 0 => Err(error),
            _ if taken == 0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&self) -> io::Result<()> {
        self.lock().send_packets(&self.tcp)
    }

    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let protected = &mut *self.lock();
        loop {
            match protected.connection.reader().read_vectored(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if protected.receive_packets(&self.tcp)? == 0 {
                return Ok(0);
            }
            if protected.connection.wants_write() {
                // An answer of the protocol's own; if it does not go now, it goes with what is sent next.
                let _ = protected.send_packets(&self.tcp);
            }
        }
    }

    fn wait(&self, interest: Interest, until: u64) {
        self.tcp.wait(interest, until);
    }

    fn shut(&self) {
        self.tcp.shut();
    }
}
