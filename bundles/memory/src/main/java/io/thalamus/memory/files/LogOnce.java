// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Causes of one kind of trouble, each of which the log gets as a warning once until the trouble is
 * over. Thread-safe. Remembers the latest few causes only, as there could be any number.
 */
public final class LogOnce {
  private static final int MOST_CAUSES = 8;

  private final InstantSource clock;
  private final Duration silence;
  private final Map<String, Instant> present = new LinkedHashMap<>();

  /** The time of the last warning for each cause, also where the trouble is over. */
  private final Map<String, Instant> warned = new LinkedHashMap<>();

  /** Trouble that is logged anew as soon as it was over. */
  public LogOnce() {
    this(InstantSource.system(), Duration.ZERO);
  }

  /**
   * Trouble that comes and goes.
   *
   * @param silence how long after a warning there is no other one for the same cause
   */
  public LogOnce(InstantSource clock, Duration silence) {
    this.clock = clock;
    this.silence = silence;
  }

  /** Notes a cause and returns the level to log it at: WARNING where it is new, else DEBUG. */
  public synchronized Level level(String cause) {
    Instant now = clock.instant();
    if (put(present, cause, now) != null) {
      return Level.DEBUG;
    }
    Instant before = put(warned, cause, now);
    if (before != null && before.plus(silence).isAfter(now)) {
      return Level.DEBUG;
    }
    warned.put(cause, now);
    return Level.WARNING;
  }

  /** Does the same for an exception, whatever file it names: some pass and come under others. */
  public Level level(IOException e) {
    String detail = e instanceof FileSystemException failure ? failure.getReason() : e.getMessage();
    return level(e.getClass().getName() + ": " + detail);
  }

  /** Adds a cause where it is missing, and returns the time of an earlier one, or null. */
  private static Instant put(Map<String, Instant> causes, String cause, Instant now) {
    Instant before = causes.putIfAbsent(cause, now);
    if (causes.size() > MOST_CAUSES) {
      causes.remove(causes.keySet().iterator().next());
    }
    return before;
  }

  /** Notes that the trouble is over. */
  public synchronized void over() {
    present.clear();
  }

  /** Returns the causes that are not over, in their order, with the time of each. */
  public synchronized Map<String, Instant> present() {
    return new LinkedHashMap<>(present);
  }
}
