// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFormatException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The memory of a model file, and of the files beside it that have its data. Not thread-safe. */
public final class DataFiles {
  private final Companions companions;
  private final List<SharedMemory> files = new ArrayList<>();

  /**
   * The files of one model.
   *
   * @param model the model file
   * @param companions opens the others
   */
  public DataFiles(SharedMemory model, Companions companions) {
    this.companions = companions;
    files.add(model);
  }

  /** Returns the model file, and those that were asked for. */
  public List<SharedMemory> all() {
    return files;
  }

  /** Returns the bytes of all of them. */
  public long size() {
    return files.stream().mapToLong(SharedMemory::size).sum();
  }

  /**
   * Returns a part of a file beside the model.
   *
   * @param entries what the model says of it: {@code location}, {@code offset}, {@code length}
   * @param name of the constant
   */
  MemorySegment part(Map<String, String> entries, String name) {
    SharedMemory file = open(entries.getOrDefault("location", ""));
    if (!files.contains(file)) {
      files.add(file);
    }
    long offset = number(entries.getOrDefault("offset", "0"), name);
    long length =
        entries.containsKey("length")
            ? number(entries.get("length"), name)
            : file.size() - Math.min(offset, file.size());
    if (offset > file.size() - length) {
      throw new Refusal(
          "'%s' has %s bytes at %s of '%s', which has %s"
              .formatted(name, length, offset, entries.get("location"), file.size()));
    }
    return file.segment().asSlice(offset, length);
  }

  private SharedMemory open(String location) {
    try {
      return companions.open(location);
    } catch (ModelFormatException e) {
      throw new Refusal(e.getMessage(), e);
    }
  }

  private static long number(String text, String name) {
    try {
      long value = Long.parseLong(text);
      if (value >= 0) {
        return value;
      }
    } catch (NumberFormatException e) {
      throw new Refusal("'" + name + "' stands at '" + text + "', no number", e);
    }
    throw new Refusal("'" + name + "' stands at " + text + ", which is negative");
  }
}
