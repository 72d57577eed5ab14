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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * A note beside the files of an entry, for people: properties, of which no compilation depends on
 * anything. Immutable.
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
      // It is for people only: an entry without one is shown without a description.
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
