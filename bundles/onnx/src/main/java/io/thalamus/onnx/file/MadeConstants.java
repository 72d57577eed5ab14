// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import io.thalamus.memory.SharedMemory;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Arrays that were made of constants of files: transposed, converted, or copied to where their
 * elements are aligned. A file that is read again for other dimensions gets the same arrays, so
 * that all its models together hold one of each, and devices find out that they are the same. They
 * go when that memory is closed. Thread-safe.
 */
public final class MadeConstants implements SharedMemory.CloseListener {
  /** Weak: nobody has to close the memory that a file was read from. */
  private final Map<SharedMemory, OfFile> files = Collections.synchronizedMap(new WeakHashMap<>());

  /** No arrays. */
  public MadeConstants() {}

  OfFile of(SharedMemory file) {
    OfFile made = files.computeIfAbsent(file, _ -> new OfFile());
    if (!file.addCloseListener(this)) {
      closed(file);
    }
    return made;
  }

  @Override
  public void closed(SharedMemory file) {
    files.remove(file);
  }

  /** Those of one file; it does not refer to the memory of the file, which would keep it. */
  static final class OfFile {
    private final Map<Key, byte[]> made = new ConcurrentHashMap<>();
    private final Set<byte[]> known = ConcurrentHashMap.newKeySet();

    /**
     * Returns an array, which its first user makes.
     *
     * @param source an array that was made before, or this for the file
     * @param how says all that decides on the contents, by its {@code equals}
     */
    byte[] get(Object source, long offset, long length, Object how, Supplier<byte[]> maker) {
      byte[] array = made.computeIfAbsent(new Key(source, offset, length, how), _ -> maker.get());
      known.add(array);
      return array;
    }

    /** Returns whether an array was made here. */
    boolean isMade(byte[] array) {
      return known.contains(array);
    }

    /** The origin of an array; an array as the source equals itself alone. */
    private record Key(Object source, long offset, long length, Object how) {}
  }
}
