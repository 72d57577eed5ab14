// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationCache.Check.State;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.caching.CacheDirectory.Listed;
import io.thalamus.runtime.caching.StepCache.Part;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A view of one caching directory for people. Not thread-safe; used for one look. */
record CacheView(CacheDirectory directory) {
  /** Stands for whatever an entry holds, which is opened and never executed. */
  private static final Model UNKNOWN =
      Model.of(new Subgraph(List.of(), List.of(), List.of(), List.of()));

  private static final String IN_USE = "a file is missing, or somebody writes it now";

  List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (Listed listed : directory.list()) {
      Entry entry = entry(listed);
      // A process that ended where the disk was full may have left empty files.
      if (entry.bytes() > 0 || entry.isBeingWritten()) {
        entries.add(entry);
      }
    }
    return entries;
  }

  Entry entry(Listed listed) throws IOException {
    EntryNote note = listed.entry().readNote();
    return new Entry(
        listed.entry().name(),
        note.get(EntryNote.LABEL),
        note.get(EntryNote.STEP),
        note.get(EntryNote.DEVICE),
        note.get(EntryNote.VERSION),
        listed.entry().files().size(),
        listed.bytes(),
        listed.lastUsed(),
        listed.entry().isBeingWritten());
  }

  List<Check> verify(List<RegisteredDevice> devices, StepCache cache) throws IOException {
    List<Check> checks = new ArrayList<>();
    for (Listed listed : directory.list()) {
      checks.add(verify(listed, devices, cache));
    }
    return checks;
  }

  private Check verify(Listed listed, List<RegisteredDevice> devices, StepCache cache)
      throws IOException {
    Entry entry = entry(listed);
    EntryNote note = listed.entry().readNote();
    Optional<RegisteredDevice> device =
        devices.stream().filter(d -> d.info().name().equals(entry.device())).findFirst();
    if (device.isEmpty()) {
      return new Check(
          entry,
          State.UNUSED,
          entry.device().isEmpty() ? "its note is missing" : entry.device() + " is not here");
    }
    for (Map.Entry<String, String> part : cache.deviceParts(device.get()).entrySet()) {
      if (!part.getValue().equals(note.get(part.getKey()))) {
        return new Check(entry, State.UNUSED, changed(part.getKey(), note, part.getValue()));
      }
    }
    PrepareConfig config =
        PrepareConfig.DEFAULT
            .with(
                constant(
                    ExecutionPreference.values(),
                    note.get(EntryNote.PREFERENCE),
                    PrepareConfig.DEFAULT.preference()))
            .with(
                constant(
                    Priority.values(),
                    note.get(EntryNote.PRIORITY),
                    PrepareConfig.DEFAULT.priority()));
    try {
      CacheEntry stored = directory.entry(listed.entry().token(), device.get().info().cacheNeeds());
      return cache
          .open(stored, device.get(), UNKNOWN, config)
          .map(reason -> new Check(entry, reason.isEmpty() ? State.GOOD : State.STALE, reason))
          .orElseGet(() -> new Check(entry, State.BAD, IN_USE));
    } catch (DeviceException e) {
      return new Check(entry, State.BAD, e.getMessage());
    }
  }

  private static <E extends Enum<E>> E constant(E[] all, String name, E otherwise) {
    return Arrays.stream(all).filter(one -> one.name().equals(name)).findFirst().orElse(otherwise);
  }

  /**
   * Returns whether a step would be restored, as its device says that opens what is stored; if
   * nothing is stored, how the nearest entry of the device differs.
   */
  Forecast forecast(Part part, PrepareConfig config, StepIdentity identity, StepCache cache)
      throws IOException {
    RegisteredDevice device = part.device();
    String step = part.describe();
    CacheEntry stored = directory.entry(identity.token(), part.needs());
    if (stored.exists()) {
      try {
        Optional<String> opened = cache.open(stored, device, part.model(), config);
        String reason = opened.orElse(IN_USE);
        return new Forecast(
            step, device.id(), opened.isPresent(), reason.isEmpty() ? List.of() : List.of(reason));
      } catch (DeviceException e) {
        return new Forecast(step, device.id(), false, List.of(e.getMessage()));
      }
    }
    Optional<EntryNote> nearest = Optional.empty();
    for (Listed listed : directory.list()) {
      EntryNote note = listed.entry().readNote();
      if (note.get(EntryNote.DEVICE).equals(device.info().name())
          && (nearest.isEmpty()
              || Comparator.comparingInt((EntryNote n) -> n.differences(identity).size())
                      .compare(note, nearest.get())
                  < 0)) {
        nearest = Optional.of(note);
      }
    }
    List<String> reasons = new ArrayList<>();
    if (nearest.isEmpty()) {
      reasons.add("nothing is stored for " + device.id());
    } else {
      EntryNote note = nearest.get();
      Map<String, String> wanted = identity.parts();
      note.differences(identity)
          .forEach(name -> reasons.add(changed(name, note, wanted.get(name))));
      if (reasons.isEmpty()) {
        reasons.add("some of its files are missing");
      }
    }
    return new Forecast(step, device.id(), false, reasons);
  }

  private static String changed(String part, EntryNote note, String now) {
    return switch (part) {
      case "model" -> "another model file, or another token";
      case "code" -> "another build of the device, of the runtime, or of what they use";
      case "settings" -> "the device is configured otherwise";
      case "structure" -> "the reader makes another model of the file";
      case "operations" ->
          "another part of the model: %s, stored is %s"
              .formatted(brief(now), brief(note.get(part)));
      default -> "another %s: %s, stored is %s".formatted(part, now, note.get(part));
    };
  }

  /** Long lists of operations, shortened. */
  private static String brief(String operations) {
    String[] words = operations.split(" ");
    return words.length < 2
        ? operations
        : "%d operations from %s".formatted(words.length, words[0]);
  }
}
