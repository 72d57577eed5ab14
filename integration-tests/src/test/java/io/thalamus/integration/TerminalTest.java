// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shell in a terminal, which the command {@code script} of util-linux makes. */
class TerminalTest {
  private static final String CTRL_C = "\u0003";
  private static final String CTRL_D = "\u0004";
  private static final Pattern CONTROL =
      Pattern.compile("\u001b\\[[0-9;?]*[a-zA-Z@]|\u001b[=>]|\r");
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(120);
  private static final long SOON_NANOS = TimeUnit.SECONDS.toNanos(10);

  @TempDir Path directory;

  private final StringBuffer seen = new StringBuffer();
  private int from;
  private Process terminal;
  private Thread screen;

  /**
   * The shell gets Ctrl-C even if whoever runs the tests in the background ignores it. It takes the
   * place of the terminal's own {@code sh}, which would end with the status of Ctrl-C.
   */
  private void start() throws Exception {
    String shell =
        "exec env --default-signal=INT '%s' --with cpu --storage '%s'"
            .formatted(ProjectFiles.DISTRIBUTION.resolve("bin/thalamus"), directory.resolve("s"));
    start(shell);
    await("thalamus> ");
  }

  private void start(String shell) throws IOException {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/script")), "needs the command script");
    ProcessBuilder builder = new ProcessBuilder("script", "-qefc", shell, "/dev/null");
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("TERM", "xterm");
    builder.environment().put("THALAMUS_JAVA_OPTIONS", "-Duser.home=" + directory);
    terminal = builder.directory(directory.toFile()).redirectErrorStream(true).start();
    screen = Thread.ofPlatform().start(this::watch);
  }

  /** The JDK is a row of more than 40 columns. */
  @Test
  void aCommandIsAsWideAsItsTerminal() throws Exception {
    String doctor =
        "stty cols 40; unset COLUMNS; exec '%s' --with cpu --storage '%s' doctor"
            .formatted(ProjectFiles.DISTRIBUTION.resolve("bin/thalamus"), directory.resolve("s"));
    start(doctor);
    await("JDK .*\n +[^ ]");
    assertEquals(0, status());
  }

  private void watch() {
    byte[] bytes = new byte[8192];
    try (InputStream in = terminal.getInputStream()) {
      for (int count = in.read(bytes); count >= 0; count = in.read(bytes)) {
        seen.append(new String(bytes, 0, count, StandardCharsets.ISO_8859_1));
      }
    } catch (IOException e) {
      seen.append(e);
    }
  }

  @AfterEach
  void end() throws Exception {
    if (terminal != null) {
      terminal.descendants().forEach(ProcessHandle::destroyForcibly);
      terminal.destroyForcibly();
      screen.join();
    }
  }

  private void type(String keys) throws IOException {
    terminal.getOutputStream().write(keys.getBytes(StandardCharsets.ISO_8859_1));
    terminal.getOutputStream().flush();
  }

  private String text() {
    return CONTROL.matcher(seen.toString()).replaceAll("");
  }

  /** Waits until the screen shows what fits a pattern, below what was waited for before. */
  private void await(String pattern) throws Exception {
    assertTrue(shows(pattern, PATIENCE_NANOS), () -> "no " + pattern + ":\n" + text());
  }

  private boolean shows(String pattern, long nanos) throws Exception {
    Pattern wanted = Pattern.compile(pattern);
    for (long end = System.nanoTime() + nanos; System.nanoTime() - end < 0; Thread.sleep(20)) {
      String text = text();
      var found = wanted.matcher(text);
      if (found.find(Math.min(from, text.length()))) {
        from = found.end();
        return true;
      }
    }
    return false;
  }

  /** Runs a line that prints a word which nobody has typed. */
  private void isAlive() throws Exception {
    type("echo al''ive\r");
    await("\nalive\n");
    await("thalamus> ");
  }

  private int status() throws Exception {
    assertTrue(terminal.waitFor(2, TimeUnit.MINUTES), this::text);
    return terminal.exitValue();
  }

  @Test
  void ctrlCEndsCommandsWithoutAWord() throws Exception {
    start();
    for (String line :
        List.of("sleep 1000", "sleep 1000 | grep x", "while { true } { sleep 1 }", "nn:qos")) {
      type("echo beg''un; " + line + "\r");
      await("\nbegun\n");
      type(CTRL_C);
      await("thalamus> ");
    }
    isAlive();
    assertFalse(text().contains("^C~"), this::text);
    assertFalse(text().contains("nterrupted"), this::text);
    assertFalse(text().contains("Exception"), this::text);
  }

  @Test
  void ctrlCInTheMidstOfPrintingLeavesTheShellItsVoice() throws Exception {
    start();
    for (String line :
        List.of("while { true } { echo word }", "while { true } { echo word } | cat")) {
      type(line + "\r");
      await("\nword\n");
      type(CTRL_C);
      await("thalamus> ");
      isAlive();
    }
  }

  @Test
  void ctrlCAtAnyMomentNeverEndsTheShell() throws Exception {
    start();
    for (int i = 0; i < 30; i++) {
      type(CTRL_C);
      Thread.sleep(i); // now before, now within the commands that set the terminal
    }
    // The last Ctrl-C may come behind the first keys of a line, which is then typed again.
    int lines = 0;
    do {
      assertTrue(lines++ < 10, this::text);
      type("echo al''ive\r");
    } while (!shows("\nalive\n", SOON_NANOS));
    type("exit 3\r");
    assertEquals(3, status(), this::text);
    assertFalse(text().contains("Exception"), this::text);
  }

  @Test
  void ctrlDEndsTheShellHoweverSoonItFollowsCtrlC() throws Exception {
    start();
    type("echo beg''un; sleep 1000\r");
    await("\nbegun\n");
    type(CTRL_C + CTRL_D);
    assertEquals(0, status(), this::text);
  }

  @Test
  void eachTabListsNamesWithSpacesAndInsertsNoneOfThem() throws Exception {
    Files.writeString(directory.resolve("one model.tflite"), "");
    Files.writeString(directory.resolve("one more.tflite"), "");
    start();
    type("nn:info on\t");
    await("one model.tflite +one more.tflite");
    type("\t\r");
    await("there is no file .*/one mo\n");
    await("thalamus> ");
    isAlive();
  }

  @Test
  void tabCompletesFilesHoweverTheyAreWritten() throws Exception {
    Path folder = Files.createDirectory(directory.resolve("my dir"));
    Files.writeString(folder.resolve("a (1).txt"), "");
    start();
    for (String word :
        List.of(
            "my\\ d\ta",
            "my\\ dir/",
            "\"my dir/",
            "'my d\ta",
            "'" + folder + "/",
            folder.toString().replace(" ", "\\ ") + "/",
            "~/my\\ dir/",
            "\"~/my d\ta")) {
      type("nn:info " + word + "\t\r");
      await("\n/.*/my dir/a \\(1\\)\\.txt is empty");
      await("thalamus> ");
    }
    isAlive();
  }

  @Test
  void whatWasTypedIsKept() throws Exception {
    start();
    type("nn:models\r");
    await("no model");
    await("thalamus> ");
    type("exit\r");
    assertEquals(0, status(), this::text);
    List<String> history = Files.readAllLines(directory.resolve("s/history"));
    assertTrue(history.stream().anyMatch(line -> line.endsWith(":nn:models")), history::toString);
  }
}
