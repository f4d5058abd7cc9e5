//! Functions of the C library that code may call where it runs; `compiler/lib/Offload/Candidate.cpp` knows them, too.

use std::ffi::c_void;

/// Makes a table of functions by their names.
macro_rules! offered {
    ($($name:ident)*) => {
        unsafe extern "C" {
            $(fn $name();)*
        }

        /// The address of a function, if it is offered.
        pub fn address(name: &str) -> Option<u64> {
            let function: *const c_void = match name {
                $(stringify!($name) => $name as *const c_void,)*
                _ => return None,
            };
            Some(function as u64)
        }

        /// Their names.
        #[cfg(test)]
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

offered! {
    memcpy memmove memset memcmp bcmp strlen strcmp strncmp
    abs labs sqrt sqrtf exp expf exp2 exp2f log logf log2 log2f log10 log10f pow powf sin sinf cos cosf tan tanf
    asin acos atan atanf atan2 atan2f sinh cosh tanh tanhf floor floorf ceil ceilf round roundf trunc truncf rint rintf
    fmod fmodf fabs fabsf fma fmaf hypot hypotf cbrt cbrtf erf erff fmin fmax fminf fmaxf ldexp ldexpf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_is_there() {
        assert!(NAMES.iter().all(|name| address(name).is_some_and(|address| address != 0)));
        assert_eq!(address("system"), None);
    }
}
