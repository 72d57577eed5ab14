// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.memory.files.AtomicFiles;
import java.io.IOException;
import java.io.Reader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * A note beside the files of an entry: properties for people, and for the choice of what leaves a
 * directory that is full. No compilation depends on it. Immutable.
 *
 * @param parts by name; those of {@link StepIdentity#parts}, and what it is called
 */
record EntryNote(Map<String, String> parts) {
  static final String DEVICE = "device";
  static final String VERSION = "version";
  static final String PREFERENCE = "preference";
  static final String PRIORITY = "priority";
  static final String LABEL = "label";
  static final String STEP = "step";

  /** The milliseconds that the device took to compile the step. */
  static final String COST = "milliseconds";

  /** The note of an entry that has none, or a damaged one. */
  static final EntryNote NONE = new EntryNote(Map.of());

  EntryNote {
    parts = Map.copyOf(parts);
  }

  /** Returns the note for an identity. */
  static EntryNote of(StepIdentity identity, String label, String step) {
    Map<String, String> parts = new LinkedHashMap<>(identity.parts());
    parts.put(LABEL, label);
    parts.put(STEP, step);
    return new EntryNote(parts);
  }

  /** Returns the value of a name; empty when it has none. */
  String get(String name) {
    return parts.getOrDefault(name, "");
  }

  /** Returns the same note of a step that took so long to compile. */
  EntryNote costing(Duration time) {
    Map<String, String> all = new LinkedHashMap<>(parts);
    all.put(COST, Long.toString(Math.max(1, time.toMillis())));
    return new EntryNote(all);
  }

  /** Returns the milliseconds that another compilation would take; 0 where the note has none. */
  long millis() {
    try {
      return Math.max(0, Long.parseLong(get(COST)));
    } catch (NumberFormatException damaged) {
      return 0;
    }
  }

  /** Returns the names of the parts in which it differs from an identity. */
  List<String> differences(StepIdentity other) {
    List<String> names = new ArrayList<>();
    other
        .parts()
        .forEach(
            (name, value) -> {
              if (!value.equals(get(name))) {
                names.add(name);
              }
            });
    return names;
  }

  static EntryNote read(Path file) {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(reader);
    } catch (NoSuchFileException e) {
      return NONE;
    } catch (IOException | IllegalArgumentException damaged) {
      // An entry without one is shown without a description, and goes first.
      return NONE;
    }
    Map<String, String> parts = new LinkedHashMap<>();
    properties.stringPropertyNames().forEach(name -> parts.put(name, properties.getProperty(name)));
    return new EntryNote(parts);
  }

  /** Writes it so that a reader sees all of it or nothing. */
  void write(Path file) throws IOException {
    Properties properties = new Properties();
    properties.putAll(parts);
    StringWriter text = new StringWriter();
    properties.store(text, "for people; see nn:cache");
    AtomicFiles.replacePrivately(file, text.toString().getBytes(StandardCharsets.UTF_8));
  }
}
