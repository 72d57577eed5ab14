// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.vectors.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExceptionsTest {
  private static final Outcome FAILED = new Outcome.Failed("wrong");

  @TempDir Path folder;

  private Exceptions read(String text) throws IOException {
    return Exceptions.read(Files.writeString(folder.resolve("exceptions"), text));
  }

  private static Outcome apply(Exceptions exceptions, String name, Outcome outcome) {
    return exceptions.apply(new Finding("control", name, outcome)).outcome();
  }

  @Test
  void aFileHasBothLists() throws IOException {
    Exceptions exceptions =
        read(
            """
            # what the accelerator cannot

            never control/long CONV_2D CANCELLED: it cannot be interrupted: by design
            not yet control/late: being worked on
            """);
    assertEquals(
        Map.of("control/long CONV_2D CANCELLED", "it cannot be interrupted: by design"),
        exceptions.never());
    assertEquals(Map.of("control/late", "being worked on"), exceptions.notYet());
  }

  @Test
  void aLineThatIsNeitherIsNamed() {
    IOException e = assertThrows(IOException.class, () -> read("sometimes control/late: it rains"));
    assertTrue(e.getMessage().contains("sometimes control/late: it rains"), e.getMessage());
    assertThrows(IOException.class, () -> read("never control/late"));
    assertThrows(
        IllegalArgumentException.class, () -> read("never a/b: never\nnot yet a/b: not yet"));
  }

  @Test
  void failuresAreExcusedAndPassesOfNotYetAreNot() {
    Exceptions exceptions = Exceptions.NONE.andNever("control/a", "x").andNotYet("control/b", "y");
    assertEquals(new Outcome.Skipped("never: x"), apply(exceptions, "a", FAILED));
    assertEquals(new Outcome.Skipped("not yet: y"), apply(exceptions, "b", FAILED));
    assertEquals(FAILED, apply(exceptions, "c", FAILED));
    assertEquals(Outcome.PASSED, apply(exceptions, "a", Outcome.PASSED));
    assertInstanceOf(Outcome.Failed.class, apply(exceptions, "b", Outcome.PASSED));
  }
}
