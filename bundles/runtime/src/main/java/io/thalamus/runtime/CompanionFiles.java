// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The files beside a model file, each read when it is first asked for. Thread-safe; owns their
 * memory until it is closed.
 */
final class CompanionFiles implements Companions, AutoCloseable {
  /** Null for a model that came out of memory. */
  private final Path folder;

  private final Map<String, SharedMemory> open = new TreeMap<>();

  private CompanionFiles(Path folder) {
    this.folder = folder;
  }

  /** Returns those in the folder of a file. */
  static CompanionFiles beside(Path file) {
    Path parent = file.toAbsolutePath().getParent();
    return new CompanionFiles(parent);
  }

  /** Returns none. */
  static CompanionFiles none() {
    return new CompanionFiles(null);
  }

  @Override
  public synchronized SharedMemory open(String name) throws ModelFormatException {
    if (folder == null) {
      return Companions.NONE.open(name);
    }
    SharedMemory known = open.get(name);
    if (known == null) {
      known = read(name);
      open.put(name, known);
    }
    return known;
  }

  private SharedMemory read(String name) throws ModelFormatException {
    String what = "the file '" + name + "', which it needs beside it,";
    try {
      Path file = folder.resolve(name).normalize();
      if (name.isBlank() || Path.of(name).isAbsolute() || !file.startsWith(folder.normalize())) {
        throw new ModelFormatException(what + " would be outside of its folder");
      }
      if (!Files.isRegularFile(file)) {
        throw new ModelFormatException(what + " is not there");
      }
      if (!file.toRealPath().startsWith(folder.toRealPath())) {
        throw new ModelFormatException(what + " is a link that leads out of its folder");
      }
      return SharedMemory.read(file);
    } catch (InvalidPathException e) {
      throw new ModelFormatException(what + " cannot have this name", e);
    } catch (IOException | SharedMemoryException e) {
      throw new ModelFormatException(what + " cannot be read: " + e.getMessage(), e);
    }
  }

  /**
   * Adds the codes of what was read to that of a model file; that one alone if there is none.
   *
   * @param coding gives the code of bytes
   */
  synchronized byte[] addTo(byte[] code, Function<MemorySegment, byte[]> coding) {
    byte[] all = code;
    for (SharedMemory file : open.values()) {
      try (SharedMemory.Lease _ = file.lend()) {
        byte[] next = coding.apply(file.segment());
        byte[] both = new byte[all.length + next.length];
        System.arraycopy(all, 0, both, 0, all.length);
        System.arraycopy(next, 0, both, all.length, next.length);
        all = Digests.sha256(MemorySegment.ofArray(both));
      }
    }
    return all;
  }

  @Override
  public synchronized void close() {
    open.values().forEach(SharedMemory::close);
  }
}
