// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import jdk.jfr.Event;
import jdk.jfr.Name;
import org.apache.felix.service.command.Descriptor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code nn:trace} and {@code nn:qos} over commands that work as the runtime would. */
class TraceCommandTest {
  @TempDir Path directory;

  /** An event as the runtime's. */
  @Name("thalamus.Step")
  static final class Step extends Event {
    private String application = "some.bundle";
    private String model = "m.tflite";
    private long compilation = 7;
    private long execution = 1;
    private String device = "simd";
    private String step;
    private String code = "NO_ERROR";
  }

  /** Commands to trace. */
  public static final class Work {
    /** Works. */
    @Descriptor("works")
    public String work(String name) throws Exception {
      Step step = new Step();
      step.step = name;
      step.begin();
      Thread.sleep(1);
      step.commit();
      return "done";
    }

    /** Works, and fails. */
    @Descriptor("fails")
    public String fail(String name) throws Exception {
      work(name);
      throw new IllegalStateException("it failed");
    }

    /** Works, and has the process end as a signal does, which never lets it return. */
    @Descriptor("ends")
    public String end(String name) throws Exception {
      work(name);
      System.exit(0);
      return "never";
    }
  }

  @Test
  void aCommandIsTraced() throws Exception {
    try (Terminal terminal = new Terminal(directory, new TraceCommand(), new Work())) {
      String shown = terminal.type("nn:trace out.json -- work 'it''s $HOME \\ now'");
      assertTrue(shown.contains("1 Step"), shown);
      assertTrue(shown.contains("simd █"), shown);
      String json = Files.readString(directory.resolve("out.json"));
      assertTrue(json.contains("\"device\":\"simd\""), json);
      assertTrue(json.contains("$HOME"), json);
      terminal.type("nn:trace out.svg -- work MUL");
      assertTrue(Files.readString(directory.resolve("out.svg")).contains(">MUL"));
      String data = terminal.type("nn:trace --json out.json -- work MUL");
      assertTrue(data.contains("\"Step\":1"), data);
    }
  }

  @Test
  void aCommandThatFailsLeavesItsTrace() throws Exception {
    try (Terminal terminal = new Terminal(directory, new TraceCommand(), new Work())) {
      Exception failure =
          assertThrows(Exception.class, () -> terminal.type("nn:trace out.json -- fail ADD"));
      assertTrue(failure.getMessage().contains("it failed"), failure::toString);
      assertTrue(Files.readString(directory.resolve("out.json")).contains("ADD"));
    }
  }

  /** A process that is ended while it records. */
  static final class Ended {
    private Ended() {}

    public static void main(String[] arguments) throws Exception {
      try (Terminal terminal =
          new Terminal(Path.of(arguments[0]), new TraceCommand(), new Work())) {
        terminal.type("nn:trace out.json -- end ADD");
      }
    }
  }

  @Test
  void aProcessThatEndsWritesItsTraceBefore() throws Exception {
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    for (int i = 0; i < 3; i++) {
      Files.deleteIfExists(directory.resolve("out.json"));
      Process process =
          new ProcessBuilder(
                  java.toString(),
                  "-cp",
                  System.getProperty("java.class.path"),
                  "-Djava.io.tmpdir=" + directory,
                  Ended.class.getName(),
                  directory.toString())
              .inheritIO()
              .start();
      assertEquals(0, process.waitFor());
      assertTrue(Files.readString(directory.resolve("out.json")).contains("ADD"));
      try (Stream<Path> left = Files.list(directory)) {
        assertEquals(List.of(), left.filter(file -> file.toString().endsWith(".jfr")).toList());
      }
    }
  }

  @Test
  void qosSeesWhatRunsMeanwhile() throws Exception {
    AtomicBoolean isOver = new AtomicBoolean();
    Thread worker =
        Thread.ofPlatform()
            .name("test-worker")
            .start(
                () -> {
                  try {
                    while (!isOver.get()) {
                      new Work().work("ADD");
                    }
                  } catch (Exception e) {
                    throw new IllegalStateException(e);
                  }
                });
    try (Terminal terminal = new Terminal(directory, new QosCommand())) {
      String shown = terminal.type("nn:qos --seconds 1");
      assertTrue(shown.contains("simd"), shown);
      String json = terminal.type("nn:qos --seconds 1 --json");
      assertTrue(json.contains("{\"device\":\"simd\",\"steps\":"), json);
    } finally {
      isOver.set(true);
      worker.join();
    }
  }

  @Test
  void whatIsRecordedIsForOneWay() throws Exception {
    try (Terminal terminal = new Terminal(directory, new TraceCommand(), new Work())) {
      assertThrows(
          Exception.class, () -> terminal.type("nn:trace --seconds 1 out.json -- work ADD"));
      assertFalse(Files.exists(directory.resolve("out.json")));
      assertTrue(terminal.type("nn:trace --seconds 0.01 out.json").contains("nothing happened"));
    }
  }
}
