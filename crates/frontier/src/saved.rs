//! How state becomes bytes and bytes become state again.
//!
//! Little-endian, fixed width, no field names: a checkpoint is a shortcut for replaying the
//! journal, written and read by the same release, with a version in its head. Lengths are never
//! trusted: a vector grows as its items arrive, so a corrupt length costs no memory.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use crate::calendar::Tick;
use crate::id::{HostId, PageId};

/// Can be written to a checkpoint.
pub trait Save {
    /// Writes the whole value.
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()>;
}

/// Can be read back from a checkpoint.
pub trait Restore: Sized {
    /// Reads what [`Save::save`] wrote.
    fn restore(from: &mut dyn io::Read) -> io::Result<Self>;
}

/// The error for saved bytes that cannot be what was written.
pub fn corrupt(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("corrupt checkpoint: {what}"),
    )
}

/// What a struct keeps, as one table: it is saved and restored field by field, in this order. Behind the
/// table stands what cannot be, and why not.
///
/// ```
/// struct Purse { coins: u64, owners: Vec<u32> }
/// turnstone_frontier::saved!(Purse: coins, owners;
///     |purse| purse.coins > 0 && purse.owners.is_empty() => "coins that nobody owns");
/// ```
#[macro_export]
macro_rules! saved {
    ($name:ident: $($field:tt),+ $(; $wrong:expr => $what:literal)*) => {
        impl $crate::Save for $name {
            fn save(&self, out: &mut dyn ::std::io::Write) -> ::std::io::Result<()> {
                $($crate::Save::save(&self.$field, out)?;)+
                Ok(())
            }
        }

        impl $crate::Restore for $name {
            fn restore(from: &mut dyn ::std::io::Read) -> ::std::io::Result<Self> {
                let read = Self { $($field: $crate::Restore::restore(from)?),+ };
                $(
                    let wrong: fn(&Self) -> bool = $wrong;
                    if wrong(&read) {
                        return Err($crate::corrupt($what));
                    }
                )*
                Ok(read)
            }
        }
    };
}

/// The same for what is made with its parameters and then becomes what was saved: the methods `save` and
/// `restore` of an `impl`, for all that changes. A field behind `mut` is such a thing itself.
#[macro_export]
macro_rules! saved_in_place {
    ($vis:vis [$($fields:tt)+] $(, $wrong:expr => $what:literal)* $(,)?) => {
        $vis fn save(&self, out: &mut dyn ::std::io::Write) -> ::std::io::Result<()> {
            #[allow(unused_imports)]
            use $crate::Save as _;
            $crate::saved_in_place!(@save self out $($fields)+);
            Ok(())
        }

        $vis fn restore(&mut self, saved: &mut dyn ::std::io::Read) -> ::std::io::Result<()> {
            $crate::saved_in_place!(@restore self saved $($fields)+);
            $(
                let wrong: fn(&Self) -> bool = $wrong;
                if wrong(self) {
                    return Err($crate::corrupt($what));
                }
            )*
            Ok(())
        }
    };
    (@save $it:ident $out:ident mut $field:ident $(, $($rest:tt)*)?) => {
        $it.$field.save($out)?;
        $crate::saved_in_place!(@save $it $out $($($rest)*)?);
    };
    (@save $it:ident $out:ident $field:ident $(, $($rest:tt)*)?) => {
        $it.$field.save($out)?;
        $crate::saved_in_place!(@save $it $out $($($rest)*)?);
    };
    (@save $it:ident $out:ident) => {};
    (@restore $it:ident $from:ident mut $field:ident $(, $($rest:tt)*)?) => {
        $it.$field.restore($from)?;
        $crate::saved_in_place!(@restore $it $from $($($rest)*)?);
    };
    (@restore $it:ident $from:ident $field:ident $(, $($rest:tt)*)?) => {
        $it.$field = $crate::Restore::restore($from)?;
        $crate::saved_in_place!(@restore $it $from $($($rest)*)?);
    };
    (@restore $it:ident $from:ident) => {};
}

macro_rules! save_number {
    ($($number:ty),*) => {$(
        impl Save for $number {
            fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
                out.write_all(&self.to_le_bytes())
            }
        }
        impl Restore for $number {
            fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
                let mut bytes = [0; size_of::<$number>()];
                from.read_exact(&mut bytes)?;
                Ok(<$number>::from_le_bytes(bytes))
            }
        }
    )*};
}
save_number!(u8, u16, u32, u64, u128, i64, f32, f64);

macro_rules! save_newtype {
    ($($name:ident),*) => {$(
        impl Save for $name {
            fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
                self.0.save(out)
            }
        }
        impl Restore for $name {
            fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
                Ok($name(Restore::restore(from)?))
            }
        }
    )*};
}
save_newtype!(PageId, HostId, Tick);

impl Save for bool {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        u8::from(*self).save(out)
    }
}

impl Restore for bool {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        match u8::restore(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(corrupt("a flag that is neither 0 nor 1")),
        }
    }
}

impl<T: Save> Save for Option<T> {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.is_some().save(out)?;
        self.as_ref().map_or(Ok(()), |value| value.save(out))
    }
}

impl<T: Restore> Restore for Option<T> {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        Ok(if bool::restore(from)? {
            Some(T::restore(from)?)
        } else {
            None
        })
    }
}

impl<A: Save, B: Save> Save for (A, B) {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.0.save(out)?;
        self.1.save(out)
    }
}

impl<A: Restore, B: Restore> Restore for (A, B) {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        Ok((A::restore(from)?, B::restore(from)?))
    }
}

impl<T: Save> Save for [T] {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.len() as u64).save(out)?;
        self.iter().try_for_each(|item| item.save(out))
    }
}

/// Reads a length and that many items, handing each on as it arrives.
fn restore_each<T: Restore>(
    from: &mut dyn io::Read,
    mut keep: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    for _ in 0..u64::restore(from)? {
        keep(T::restore(from)?)?;
    }
    Ok(())
}

impl<T: Save> Save for Vec<T> {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.as_slice().save(out)
    }
}

impl<T: Restore> Restore for Vec<T> {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let mut items = Self::new();
        restore_each(from, |item| {
            items.push(item);
            Ok(())
        })?;
        items.shrink_to_fit();
        Ok(items)
    }
}

impl<T: Save> Save for VecDeque<T> {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.len() as u64).save(out)?;
        self.iter().try_for_each(|item| item.save(out))
    }
}

impl<T: Restore> Restore for VecDeque<T> {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        Ok(Vec::restore(from)?.into())
    }
}

impl<K: Save, V: Save> Save for BTreeMap<K, V> {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.len() as u64).save(out)?;
        for (key, value) in self {
            key.save(out)?;
            value.save(out)?;
        }
        Ok(())
    }
}

impl<K: Restore + Ord, V: Restore> Restore for BTreeMap<K, V> {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let mut map = Self::new();
        restore_each(from, |(key, value)| match map.insert(key, value) {
            None => Ok(()),
            Some(_) => Err(corrupt("a key that comes twice")),
        })?;
        Ok(map)
    }
}
