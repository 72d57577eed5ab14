// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.api.CompilationOptions;
import io.thalamus.model.Model;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A cache that says what the test wants. */
final class FakeCache implements CompilationCache {
  final List<Entry> entries = new ArrayList<>();
  final List<Check> checks = new ArrayList<>();
  final List<Forecast> forecasts = new ArrayList<>();
  final List<CompilationOptions> asked = new ArrayList<>();
  final List<Path> directories = new ArrayList<>();
  final List<Trouble> troubles = new ArrayList<>();
  final List<Looks> looks = new ArrayList<>();
  Optional<String> obstacle = Optional.empty();
  long collected;

  @Override
  public List<Entry> entries(Path directory) {
    directories.add(directory);
    return List.copyOf(entries);
  }

  @Override
  public List<Check> verify(Path directory) {
    directories.add(directory);
    return List.copyOf(checks);
  }

  @Override
  public List<Entry> collect(Path directory, long bytes) {
    directories.add(directory);
    collected = bytes;
    return entries.isEmpty() ? List.of() : List.of(entries.removeLast());
  }

  @Override
  public long quotaBytes() {
    return 77;
  }

  @Override
  public List<Trouble> troubles() {
    return List.copyOf(troubles);
  }

  @Override
  public List<Looks> looks() {
    return List.copyOf(looks);
  }

  @Override
  public Optional<String> obstacle(Path directory) {
    return obstacle;
  }

  @Override
  public int forget(Model model, CompilationOptions options) {
    asked.add(options);
    return 0;
  }

  @Override
  public List<Forecast> why(Model model, CompilationOptions options) {
    asked.add(options);
    return List.copyOf(forecasts);
  }
}
