// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Over a stream as Gogo makes them: it closes for good where an interrupted thread writes. */
class ProgressTest {
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final WritableByteChannel channel = Channels.newChannel(written);
  private final PrintStream terminal =
      new PrintStream(Channels.newOutputStream(channel), true, StandardCharsets.UTF_8);

  @AfterEach
  void calm() {
    Thread.interrupted();
  }

  private static void pause() throws InterruptedException {
    Thread.sleep(150);
  }

  @Test
  void anInterruptedThreadDoesNotCloseTheTerminal() throws Exception {
    Progress progress = new Progress(terminal, true, 80);
    pause();
    Thread.currentThread().interrupt();
    progress.say("half");
    progress.close();
    assertTrue(channel.isOpen());
    assertTrue(Thread.interrupted(), "the interrupt is still told");
    assertEquals("\r\u001b[Jhalf", written.toString(StandardCharsets.UTF_8));
  }

  @Test
  void theLineIsTakenAway() throws Exception {
    try (Progress progress = new Progress(terminal, true, 80)) {
      pause();
      progress.say("half");
    }
    assertEquals("\r\u001b[Jhalf\r\u001b[J", written.toString(StandardCharsets.UTF_8));
  }

  @Test
  void severalLinesAreTakenAwayTogether() throws Exception {
    try (Progress progress = new Progress(terminal, true, 80)) {
      pause();
      progress.say("one\ntwo\nthree");
    }
    assertEquals(
        "\r\u001b[Jone\ntwo\nthree\u001b[2A\r\u001b[J", written.toString(StandardCharsets.UTF_8));
  }

  @Test
  void aLineThatTheTerminalWrapsTakesSeveralRows() throws Exception {
    try (Progress progress = new Progress(terminal, true, 10)) {
      pause();
      progress.say("a line of 17 bits\n\u001b[1m10 columns\u001b[0m");
    }
    assertTrue(written.toString(StandardCharsets.UTF_8).endsWith("\u001b[2A\r\u001b[J"));
  }

  @Test
  void whereNobodyWatchesNothingIsWritten() throws Exception {
    try (Progress progress = new Progress(terminal, false, 80)) {
      pause();
      progress.say("half");
    }
    assertEquals(0, written.size());
  }
}
