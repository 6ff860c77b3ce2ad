//! The memory of one launch: a static arena, since each small mapping that the C library's allocator makes and unmakes
//! costs as much as twenty other system calls.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a usual launch needs several times. Pages that are never touched cost nothing.
const SIZE: usize = 128 * 1024;

/// Every block begins at a multiple of this, as malloc(3)'s do: nix puts `cmsghdr`s into vectors of bytes.
const GRAIN: usize = 16;

/// An allocator that hands out its own bytes in order, and the system's when they are used up.
///
/// Only what was handed out last is taken back, and can grow in place. So whatever lives as long as the run, a reaper's
/// records among it, loses at most the arena, and goes on as without one.
#[repr(C)]
pub struct Arena {
    /// How many bytes are handed out; a multiple of the grain. On a page with the first of them.
    used: AtomicUsize,
    bytes: UnsafeCell<Bytes>,
}

#[repr(C, align(16))]
struct Bytes([u8; SIZE]);

// SAFETY: no byte is handed out twice before it is taken back, since `used` only changes atomically; the arena itself
// never reads or writes one but for `realloc`, whose caller owns the block.
unsafe impl Sync for Arena {}

impl Arena {
    /// One of which nothing is handed out.
    pub const fn unused() -> Self {
        Self { used: AtomicUsize::new(0), bytes: UnsafeCell::new(Bytes([0; SIZE])) }
    }

    fn base(&self) -> *mut u8 {
        self.bytes.get().cast()
    }

    /// Where in the arena a block begins; `None` for one of the system's.
    fn place(&self, block: *mut u8) -> Option<usize> {
        block.addr().checked_sub(self.base().addr()).filter(|begin| *begin < SIZE)
    }

    /// The next block; `None` where the system has to help.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let next = |begin| (layout.align() <= GRAIN).then(|| end(begin, layout.size()))?;
        let begin = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        Some(self.base().wrapping_add(begin))
    }

    /// Changes the size of the block at `begin`, if it is the last that was handed out.
    fn resize(&self, begin: usize, from: usize, to: usize) -> bool {
        let (Some(from), Some(to)) = (end(begin, from), end(begin, to)) else { return false };
        self.used.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// Where the next block begins; `None` beyond the arena.
fn end(begin: usize, size: usize) -> Option<usize> {
    begin.checked_add(size)?.checked_next_multiple_of(GRAIN).filter(|end| *end <= SIZE)
}

// SAFETY: a block is `layout.size()` bytes of the arena at a multiple of `layout.align()` that nobody else has, or one of
// the system's, to which it is given back with the same layout.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the system's asks for.
        self.take(layout).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match self.place(block) {
            Some(begin) => drop(self.resize(begin, layout.size(), 0)),
            // SAFETY: a block from elsewhere came of the system's `alloc` or `realloc` with this layout.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(begin) = self.place(block) else {
            // SAFETY: as in `dealloc`.
            return unsafe { System.realloc(block, layout, size) };
        };
        if self.resize(begin, layout.size(), size) {
            return block;
        }
        let Ok(moved) = Layout::from_size_align(size, layout.align()) else { return null_mut() };
        // SAFETY: the caller promises that `size` is not zero.
        let larger = unsafe { self.alloc(moved) };
        if !larger.is_null() {
            // SAFETY: both blocks are at least this long, the caller's until now, and apart.
            unsafe { larger.copy_from_nonoverlapping(block, layout.size().min(size)) };
            // SAFETY: the caller gave it up.
            unsafe { self.dealloc(block, layout) };
        }
        larger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    fn alloc(arena: &Arena, layout: Layout) -> *mut u8 {
        // SAFETY: no size here is zero.
        unsafe { arena.alloc(layout) }
    }

    fn free(arena: &Arena, block: *mut u8, layout: Layout) {
        // SAFETY: every block here is freed once, with its last layout.
        unsafe { arena.dealloc(block, layout) }
    }

    fn resize(arena: &Arena, block: *mut u8, from: usize, to: usize) -> *mut u8 {
        // SAFETY: the block is live, of that size, and no size here is zero.
        unsafe { arena.realloc(block, layout(from), to) }
    }

    #[test]
    fn the_last_block_is_taken_back_and_grows_in_place() {
        let arena = Box::new(Arena::unused());
        let first = alloc(&arena, layout(5));
        let second = alloc(&arena, layout(5));
        assert_eq!(second.addr() - first.addr(), GRAIN);
        assert_eq!(resize(&arena, second, 5, 500), second);
        free(&arena, second, layout(500));
        free(&arena, first, layout(5));
        assert_eq!(arena.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_block_that_moves_keeps_its_bytes() {
        let arena = Box::new(Arena::unused());
        let first = alloc(&arena, layout(4));
        // SAFETY: four bytes are there.
        unsafe { first.copy_from(b"word".as_ptr(), 4) };
        let second = alloc(&arena, layout(4));
        let moved = resize(&arena, first, 4, SIZE);
        assert_eq!(arena.place(moved), None);
        // SAFETY: they were written, and moved.
        assert_eq!(unsafe { std::slice::from_raw_parts(moved, 4) }, b"word");
        free(&arena, moved, layout(SIZE));
        free(&arena, second, layout(4));
    }

    #[test]
    fn the_system_helps_where_the_arena_ends_or_is_too_coarse() {
        let arena = Box::new(Arena::unused());
        let page = Layout::from_size_align(10, 4096).unwrap();
        let aligned = alloc(&arena, page);
        let all = alloc(&arena, layout(SIZE));
        let more = alloc(&arena, layout(1));
        assert_eq!([aligned, all, more].map(|block| arena.place(block)), [None, Some(0), None]);
        assert!(aligned.addr().is_multiple_of(page.align()));
        free(&arena, more, layout(1));
        free(&arena, all, layout(SIZE));
        free(&arena, aligned, page);
        assert_eq!(arena.used.load(Ordering::Relaxed), 0);
    }
}
