// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import io.thalamus.console.text.Units;
import io.thalamus.memory.SharedMemory;
import io.thalamus.shell.doctor.Diagnostics.Finding;
import io.thalamus.shell.doctor.Diagnostics.Verdict;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** The check of {@code nn:doctor} for the directories of shared memory. Stateless. */
final class SharedMemoryCheck {
  /** Twice what a Docker container gets that nobody gave more: one large image takes that. */
  private static final long LITTLE = 128L << 20;

  private SharedMemoryCheck() {}

  /** Returns what is found in these directories, the preferred one first. */
  static Finding of(List<Path> directories) {
    String rooms =
        directories.stream()
            .map(SharedMemoryCheck::describe)
            .collect(Collectors.joining(", then "));
    if (free(directories.getFirst()) >= LITTLE) {
      return new Finding("shared memory", Verdict.GOOD, rooms, "");
    }
    boolean isSomewhere = directories.stream().anyMatch(place -> free(place) >= LITTLE);
    return new Finding(
        "shared memory",
        isSomewhere ? Verdict.SLOW : Verdict.BROKEN,
        rooms
            + (isSomewhere
                ? ""
                : ": executions that need more end with RESOURCE_EXHAUSTED_TRANSIENT"),
        "make room (docker run --shm-size=1g), or name another directory with"
            + " THALAMUS_JAVA_OPTIONS=-D"
            + SharedMemory.DIRECTORY_PROPERTY
            + "=DIR");
  }

  private static String describe(Path directory) {
    return Files.isWritable(directory)
        ? "%s with %s free".formatted(directory, Units.bytes(free(directory)))
        : directory + ", which cannot be written";
  }

  /** Returns the free bytes; a memory file system without a limit has a total of 0. */
  private static long free(Path directory) {
    File place = directory.toFile();
    if (!Files.isWritable(directory)) {
      return 0;
    }
    return place.getTotalSpace() == 0 ? Long.MAX_VALUE : place.getUsableSpace();
  }
}
