// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFormatException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** The memory of a model file, and of the files beside it that have its data. Not thread-safe. */
public final class DataFiles {
  /** Bytes below which a constant is made again sooner than it is found. */
  private static final int LEAST_KEPT = 1 << 10;

  private final Companions companions;
  private final MadeConstants made;
  private final List<SharedMemory> files = new ArrayList<>();

  /**
   * The files of one model.
   *
   * @param model the model file
   * @param companions opens the others
   * @param made keeps what is made of their constants
   */
  public DataFiles(SharedMemory model, Companions companions, MadeConstants made) {
    this.companions = companions;
    this.made = made;
    files.add(model);
  }

  /** Returns the model file, and those that were asked for. */
  public List<SharedMemory> all() {
    return files;
  }

  /** Returns the bytes of all of them. */
  public long size() {
    long size = 0;
    for (SharedMemory file : files) {
      size += file.size();
    }
    return size;
  }

  /** The place of bytes in a file. */
  public record Place(SharedMemory file, long offset) {}

  /** Returns where bytes stand in the files; empty if they were made. */
  public Optional<Place> place(MemorySegment bytes) {
    if (bytes.isNative()) {
      for (SharedMemory file : files) {
        long offset = bytes.address() - file.segment().address();
        if (offset >= 0 && offset <= file.size() - bytes.byteSize()) {
          return Optional.of(new Place(file, offset));
        }
      }
    }
    return Optional.empty();
  }

  /**
   * Returns an array that is made of constants, once for all readings of the file in which they
   * stand, or of which they were made this way; each time if others may write to its memory.
   *
   * @param size of the array
   * @param how says all that decides on the contents beside the bytes, by its {@code equals}
   */
  public MemorySegment made(
      MemorySegment bytes, long size, Object how, Supplier<MemorySegment> maker) {
    if (size < LEAST_KEPT) {
      return maker.get();
    }
    Supplier<byte[]> array = () -> (byte[]) maker.get().heapBase().orElseThrow();
    Optional<Place> place = place(bytes);
    if (place.isPresent() && place.get().file().isReadOnly()) {
      MadeConstants.OfFile ofFile = made.of(place.get().file());
      return MemorySegment.ofArray(
          ofFile.get(ofFile, place.get().offset(), bytes.byteSize(), how, array));
    }
    if (bytes.heapBase().orElse(null) instanceof byte[] source
        && source.length == bytes.byteSize()) {
      for (SharedMemory file : files) {
        MadeConstants.OfFile ofFile = made.of(file);
        if (ofFile.isMade(source)) {
          return MemorySegment.ofArray(ofFile.get(source, 0, source.length, how, array));
        }
      }
    }
    return maker.get();
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
