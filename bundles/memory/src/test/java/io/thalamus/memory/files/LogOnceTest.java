// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.System.Logger.Level;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class LogOnceTest {
  @Test
  void eachCauseIsAWarningOnceUntilItIsOver() {
    LogOnce log = new LogOnce();
    assertEquals(Level.WARNING, log.level("a"));
    assertEquals(Level.DEBUG, log.level("a"));
    assertEquals(Level.WARNING, log.level("b"));
    assertEquals(List.of("a", "b"), List.copyOf(log.present().keySet()));
    log.over();
    assertEquals(List.of(), List.copyOf(log.present().keySet()));
    assertEquals(Level.WARNING, log.level("a"));
  }

  @Test
  void namesOfFilesMakeNoNewCause() {
    LogOnce log = new LogOnce();
    assertEquals(Level.WARNING, log.level(new FileSystemException("one", null, "full")));
    assertEquals(Level.DEBUG, log.level(new FileSystemException("two", null, "full")));
    assertEquals(Level.WARNING, log.level(new FileSystemException("two", null, "read-only")));
  }

  @Test
  void troubleThatComesAndGoesIsSilentForAWhile() {
    AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    LogOnce log = new LogOnce(now::get, Duration.ofHours(1));
    assertEquals(Level.WARNING, log.level("a"));
    log.over();
    now.set(Instant.EPOCH.plus(Duration.ofMinutes(59)));
    assertEquals(Level.DEBUG, log.level("a"));
    assertEquals(now.get(), log.present().get("a"));
    log.over();
    now.set(Instant.EPOCH.plus(Duration.ofMinutes(60)));
    assertEquals(Level.WARNING, log.level("a"));
  }

  @Test
  void causesWithoutEndPushEachOtherOut() {
    LogOnce log = new LogOnce();
    for (int i = 0; i < 100; i++) {
      log.level("cause " + i);
    }
    assertEquals(8, log.present().size());
    assertEquals(Level.DEBUG, log.level("cause 99"));
  }
}
