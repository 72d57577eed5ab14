// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceServer.Region;
import io.thalamus.serving.InferenceServer.SharedRegions;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.regex.Pattern;

/**
 * Regions of POSIX shared memory objects, which Linux shows as files of one directory. Thread-safe.
 * Clients may shorten an object while it is mapped: who copies from or to a segment must be ready
 * for an {@link InternalError}.
 */
final class Regions implements SharedRegions {
  private static final Pattern KEY = Pattern.compile("/?[^/\\x00]{1,255}");

  private final Path directory;
  private final Map<String, Mapped> regions = new ConcurrentSkipListMap<>();

  private record Mapped(Region region, MemorySegment segment) {}

  /** Regions of the objects that are files of a directory. */
  Regions(Path directory) {
    this.directory = directory;
  }

  @Override
  public void register(String name, String key, long offset, long byteSize)
      throws ServingException {
    if (name.isEmpty()) {
      throw ServingException.invalid("a region of shared memory needs a name");
    }
    String what = "region '" + name + "' of shared memory";
    String file = key.startsWith("/") ? key.substring(1) : key;
    if (!KEY.matcher(key).matches() || file.equals(".") || file.equals("..")) {
      throw ServingException.invalid(
          what + ": '" + key + "' is not the name of a shared memory object");
    }
    if (offset < 0 || byteSize < 1) {
      throw ServingException.invalid(
          "%s: offset %d and byte_size %d: expected at least 0 and at least 1"
              .formatted(what, offset, byteSize));
    }
    MemorySegment segment = map(what, key, directory.resolve(file), offset, byteSize);
    Mapped mapped = new Mapped(new Region(name, key, offset, byteSize), segment);
    if (regions.putIfAbsent(name, mapped) != null) {
      throw ServingException.invalid(what + " is registered already: unregister it first");
    }
  }

  private static MemorySegment map(String what, String key, Path file, long offset, long byteSize)
      throws ServingException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      if (channel.size() < byteSize || channel.size() - byteSize < offset) {
        throw ServingException.invalid(
            "%s: object '%s' has %d bytes: expected at least %d from offset %d on"
                .formatted(what, key, channel.size(), byteSize, offset));
      }
      return channel.map(MapMode.READ_WRITE, offset, byteSize, Arena.ofAuto());
    } catch (IOException e) {
      String reason =
          switch (e) {
            case NoSuchFileException _ -> "it does not exist";
            case AccessDeniedException _ -> "access is denied";
            default -> e.getMessage();
          };
      throw new ServingException(
          Failure.INVALID_ARGUMENT,
          what + ": object '" + key + "' cannot be opened: " + reason,
          Optional.empty(),
          e);
    }
  }

  @Override
  public void unregister(String name) {
    if (name.isEmpty()) {
      regions.clear();
    } else {
      regions.remove(name);
    }
  }

  @Override
  public List<Region> status(String name) throws ServingException {
    return name.isEmpty()
        ? regions.values().stream().map(Mapped::region).toList()
        : List.of(find(name).region());
  }

  private Mapped find(String name) throws ServingException {
    Mapped found = regions.get(name);
    if (found == null) {
      throw new ServingException(
          Failure.NOT_FOUND, "no region of shared memory is registered as '" + name + "'");
    }
    return found;
  }

  @Override
  public MemorySegment segment(String name, long offset, long byteSize) throws ServingException {
    Mapped found = find(name);
    long size = found.segment().byteSize();
    if (offset < 0 || byteSize < 0 || size < byteSize || size - byteSize < offset) {
      throw ServingException.invalid(
          "region '%s' of shared memory has %d bytes: offset %d and byte_size %d are outside"
              .formatted(name, size, offset, byteSize));
    }
    return found.segment().asSlice(offset, byteSize);
  }
}
