// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.CompilationOptions;
import io.thalamus.model.CacheToken;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A caching directory in which every model has a token of its own, and how many steps came from it.
 * Thread-safe.
 */
public final class CacheTally {
  private final Path directory;
  private final SecureRandom random = new SecureRandom();
  private final AtomicLong restored = new AtomicLong();
  private final AtomicLong steps = new AtomicLong();

  /** Counts what a directory gives. */
  public CacheTally(Path directory) {
    this.directory = directory;
  }

  /** Options with a token that no model had before. */
  CompilationOptions next(CompilationOptions options) {
    byte[] token = new byte[CacheToken.SIZE];
    random.nextBytes(token);
    return options.with(new CacheOptions(directory, CacheToken.of(token), "nn:verify"));
  }

  void count(List<CacheOutcome> caching) {
    steps.addAndGet(caching.size());
    restored.addAndGet(caching.stream().filter(step -> step.origin().isRestored()).count());
  }

  /** Returns how many steps came from the directory. */
  public long restored() {
    return restored.get();
  }

  /** Returns how many steps were compiled a second time, or came from the directory. */
  public long steps() {
    return steps.get();
  }
}
