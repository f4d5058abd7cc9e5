//! Socket addresses as C has them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libc::{sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};

use super::ffi::SockAddr;

/// An address.
pub struct Address {
    storage: sockaddr_storage,
    len: usize,
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        // SAFETY: all of these may be zero; and the storage holds either of the two.
        unsafe {
            let mut storage: sockaddr_storage = std::mem::zeroed();
            let len = match address {
                SocketAddr::V4(v4) => {
                    let mut name: sockaddr_in = std::mem::zeroed();
                    name.sin_family = libc::AF_INET as libc::sa_family_t;
                    name.sin_port = v4.port().to_be();
                    name.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                    (&raw mut storage).cast::<sockaddr_in>().write(name);
                    size_of::<sockaddr_in>()
                }
                SocketAddr::V6(v6) => {
                    let mut name: sockaddr_in6 = std::mem::zeroed();
                    name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                    name.sin6_port = v6.port().to_be();
                    name.sin6_addr.s6_addr = v6.ip().octets();
                    name.sin6_scope_id = v6.scope_id();
                    (&raw mut storage).cast::<sockaddr_in6>().write(name);
                    size_of::<sockaddr_in6>()
                }
            };
            Self { storage, len }
        }
    }
}

impl Address {
    /// As UCX takes it; valid as long as this lives.
    pub fn as_ffi(&self) -> SockAddr {
        SockAddr {
            addr: (&raw const self.storage).cast::<sockaddr>(),
            addrlen: self.len as socklen_t,
        }
    }
}

/// What an address that UCX has filled in says.
pub fn read(storage: &sockaddr_storage) -> Option<SocketAddr> {
    let at = std::ptr::from_ref(storage);
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is one of these.
            let name = unsafe { &*at.cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(name.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { &*at.cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(SocketAddr::new(IpAddr::V6(ip), u16::from_be(name.sin6_port)))
        }
        _ => None,
    }
}
