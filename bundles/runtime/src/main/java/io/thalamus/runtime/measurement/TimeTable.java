// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.FileLocks;
import io.thalamus.runtime.measurement.MeasuredTime.Key;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The file of measured times, which processes share. Not thread-safe.
 *
 * <p>A line for each time, fields separated by tabs: device, what, nanoseconds, when; above them
 * one line that names format and machine. A writer takes the lock file first, reads the times of
 * others, puts its own over the older ones, writes a new file beside the old one and renames it, so
 * that no reader sees half a file, also if a writer is killed.
 */
final class TimeTable {
  /** The oldest go where there are more. */
  static final int MOST = 20_000;

  private static final String NAME = "times.tsv";
  private static final int FIELDS = 4;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Path directory;
  private final String header;

  /** A file that is damaged. */
  static final class DamagedException extends IOException {
    private static final long serialVersionUID = 1L;

    DamagedException(String message) {
      super(message);
    }
  }

  /**
   * The file in a directory, which need not exist.
   *
   * @param machine what the times hold for; those of another are not used
   */
  TimeTable(Path directory, String machine) {
    this.directory = directory;
    this.header = "thalamus measurements 1 " + machine;
  }

  Path file() {
    return directory.resolve(NAME);
  }

  /**
   * Returns the stored times; none when the file is missing, or of another machine or format.
   *
   * @throws DamagedException where it is no such file
   */
  Map<Key, MeasuredTime> read() throws IOException {
    Map<Key, MeasuredTime> times = new HashMap<>();
    List<String> lines;
    try {
      lines = Files.readAllLines(file(), StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      return times;
    } catch (java.nio.charset.CharacterCodingException e) {
      throw new DamagedException("it is no text");
    }
    if (lines.isEmpty() || !lines.getFirst().startsWith("thalamus measurements ")) {
      throw new DamagedException("its first line is not that of a table of measurements");
    }
    if (!lines.getFirst().equals(header)) {
      return times;
    }
    for (int i = 1; i < lines.size(); i++) {
      parse(lines.get(i), i + 1, times);
    }
    return times;
  }

  private static void parse(String line, int number, Map<Key, MeasuredTime> times)
      throws DamagedException {
    String[] fields = line.split("\t", -1);
    try {
      double nanos = fields.length == FIELDS ? Double.parseDouble(fields[2]) : -1;
      if (!(nanos >= 0) || Double.isInfinite(nanos)) {
        throw new DamagedException("line " + number + " is no measurement");
      }
      times.put(new Key(fields[0], fields[1]), new MeasuredTime(nanos, Long.parseLong(fields[3])));
    } catch (NumberFormatException e) {
      throw new DamagedException("line " + number + " has no number where one must be");
    }
  }

  /**
   * Adds times to the file.
   *
   * @return all that it holds now
   * @throws IOException where it cannot be written; a damaged file is written anew
   */
  Map<Key, MeasuredTime> merge(Map<Key, MeasuredTime> own) throws IOException {
    Files.createDirectories(directory);
    Path lockFile = directory.resolve("times.lock");
    try (FileChannel channel =
            FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock _ = FileLocks.lock(channel, lockFile, PATIENCE)) {
      Map<Key, MeasuredTime> all = readOrNothing();
      own.forEach((key, time) -> all.merge(key, time, (a, b) -> b.seen() >= a.seen() ? b : a));
      Map<Key, MeasuredTime> kept = all.size() <= MOST ? all : latest(all);
      write(kept);
      return kept;
    }
  }

  private Map<Key, MeasuredTime> readOrNothing() throws IOException {
    try {
      return read();
    } catch (DamagedException e) {
      // Told by whoever read it first.
      return new HashMap<>();
    }
  }

  private static Map<Key, MeasuredTime> latest(Map<Key, MeasuredTime> all) {
    return all.entrySet().stream()
        .sorted(Comparator.comparingLong(entry -> -entry.getValue().seen()))
        .limit(MOST)
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  private void write(Map<Key, MeasuredTime> times) throws IOException {
    StringBuilder text = new StringBuilder(header).append('\n');
    times.entrySet().stream()
        .sorted(
            Comparator.comparing((Map.Entry<Key, MeasuredTime> entry) -> entry.getKey().device())
                .thenComparing(entry -> entry.getKey().what()))
        .forEach(
            entry ->
                text.append(entry.getKey().device())
                    .append('\t')
                    .append(entry.getKey().what())
                    .append('\t')
                    .append((float) entry.getValue().nanos())
                    .append('\t')
                    .append(entry.getValue().seen())
                    .append('\n'));
    AtomicFiles.replace(file(), fresh -> Files.writeString(fresh, text));
  }
}
