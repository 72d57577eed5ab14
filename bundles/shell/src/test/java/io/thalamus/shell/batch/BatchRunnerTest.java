// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.batch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.shell.session.Kept;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.gogo.runtime.threadio.ThreadIOImpl;
import org.apache.felix.service.command.CommandSession;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.service.log.LogEntry;
import org.osgi.service.log.LogListener;
import org.osgi.service.log.LogReaderService;

/** Over a real Gogo, without a framework. */
class BatchRunnerTest {
  @TempDir Path storage;

  private final List<List<String>> seen = new ArrayList<>();
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private ThreadIOImpl streams;
  private BatchRunner runner;
  private CommandSession server;
  private boolean hadNotices;

  /** Commands as a bundle would bring them. */
  public final class Commands {
    public String echo(CommandSession session, String[] words) {
      seen.add(List.of(words));
      return "json=" + session.get("nn.json");
    }

    public void one(int number) {
      seen.add(List.of(Integer.toString(number)));
    }

    public void fail() {
      throw new IllegalStateException("the device is lost\nand more");
    }

    public void refuse() throws Refusal {
      throw new Refusal();
    }

    public String load() {
      System.getLogger("io.thalamus.test").log(System.Logger.Level.WARNING, "no {0}", "room");
      return "loaded";
    }

    public void serve(CommandSession session) {
      server = session;
      hadNotices = session.get("nn.notices") != null;
    }

    public String first() {
      return "1st";
    }

    public String second() {
      return "2nd";
    }
  }

  private static final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;

    Refusal() {
      super("no such option");
    }

    @SuppressWarnings("unused") // by reflection
    public int exitStatus() {
      return 2;
    }
  }

  private static final class EmptyLog implements LogReaderService {
    @Override
    public void addLogListener(LogListener listener) {}

    @Override
    public void removeLogListener(LogListener listener) {}

    @Override
    public Enumeration<LogEntry> getLog() {
      return Collections.emptyEnumeration();
    }
  }

  @BeforeEach
  void gogo() {
    streams = new ThreadIOImpl();
    streams.start();
    CommandProcessorImpl processor = new CommandProcessorImpl(streams);
    Commands commands = new Commands();
    for (String name : List.of("echo", "one", "fail", "refuse", "first", "second")) {
      processor.addCommand("nn", commands, name);
    }
    processor.addCommand("nn", commands, "load");
    processor.addCommand("nn", commands, "serve");
    runner = new BatchRunner(processor, new EmptyLog(), null, null, Kept.in(storage));
  }

  @AfterEach
  void restoreStreams() {
    streams.stop();
  }

  private int run(String key, Object value, List<String> words, boolean json) {
    Map<String, Object> request = new HashMap<>();
    request.put("words", words);
    request.put("json", json);
    request.put("out", new PrintStream(out, true, StandardCharsets.UTF_8));
    request.put("err", new PrintStream(err, true, StandardCharsets.UTF_8));
    if (key != null) {
      request.put(key, value);
    }
    return runner.applyAsInt(request);
  }

  private int run(String... words) {
    return run(null, null, List.of(words), false);
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  /** A container that stops behind its server logs errors that nobody can do anything about. */
  @Test
  void nothingIsReportedOnceAServerHasEnded() {
    assertEquals(0, run("serve"), this::err);
    assertTrue(hadNotices);
    assertNull(server.get("nn.notices"));
  }

  @Test
  void argumentsArriveUnchanged() {
    List<String> awkward =
        List.of(
            "a b", "", "$HOME", "${x}", "\"q\"", "'s'", "*", "~", "#c", "a;b", "a|b", "{x}", "[1]",
            "(y)", "\\", "\\n", "--opt=1", "-v", "ä漢", "=", "`z`", "a\nb", "<in", "%(1+1)", "!x");
    List<String> words = new ArrayList<>(List.of("echo"));
    words.addAll(awkward);
    assertEquals(0, run(words.toArray(String[]::new)), this::err);
    assertEquals(List.of(awkward), seen);
  }

  @Test
  void jsonIsASessionVariable() {
    assertEquals(0, run(null, null, List.of("echo"), true));
    assertEquals("json=true\n", out());
  }

  @Test
  void aFailureIsOneLineAndStatusOne() {
    assertEquals(1, run("fail"));
    assertEquals("thalamus: the device is lost\n", err());
    assertEquals("", out());
  }

  @Test
  void anExceptionMayChooseItsStatus() {
    assertEquals(2, run("refuse"));
    assertEquals("thalamus: no such option\n", err());
  }

  @Test
  void argumentsThatFitNoFormAreWrongUsage() {
    assertEquals(2, run("one", "two"));
    assertTrue(err().startsWith("thalamus: these arguments do not fit"), this::err);
    assertEquals(1, err().lines().count(), this::err);
  }

  @Test
  void whatDoesNotOutliveTheProcessSaysSoAndWarningsComeLast() {
    assertEquals(0, run("load"));
    assertEquals("loaded\n", out());
    assertEquals(
        "thalamus: load holds for this process, which ends now; the shell, -c and -f go on with"
            + " it, --keep has each process begin with it\nthalamus: no room\n",
        err());
    err.reset();
    assertEquals(0, run("text", "nn:load", List.of(), false));
    assertEquals("thalamus: no room\n", err());
  }

  @Test
  void whatIsKeptIsRunFirstAndTellsItsFailures() throws Exception {
    Files.writeString(
        storage.resolve("kept"), "a bundle\tfail\nmodel b\techo\tnot shown\nmodel c\tnone\n");
    assertEquals(0, run("first"));
    assertEquals("1st\n", out());
    String where = " (kept in " + storage.resolve("kept") + ")";
    assertEquals(2, err().lines().filter(line -> line.endsWith(where)).count(), this::err);
    assertTrue(err().startsWith("thalamus: "), this::err);
    assertTrue(err().contains("no command nn:none"), this::err);
  }

  @Test
  void devicesThatWereChosenAreNotChanged() throws Exception {
    Files.writeString(storage.resolve("kept"), "a bundle\tfail\nmodel b\tnone\n");
    assertEquals(0, run("devices", true, List.of("echo", "x"), false));
    assertTrue(err().startsWith("thalamus: no command nn:none"), this::err);
    assertEquals(1, err().lines().count(), this::err);
  }

  @Test
  void anUnknownCommandNamesItsNeighbours() {
    assertEquals(2, run("ecco"));
    assertEquals("thalamus: no command ecco; did you mean echo?\n", err());
    assertEquals(2, run("ebo"));
    assertTrue(err().contains("no command ebo; help lists all"), this::err);
  }

  @Test
  void textPrintsEveryStatementsResult() {
    assertEquals(0, run("text", "nn:first; second\n\nfirst", List.of(), false), this::err);
    assertEquals("1st\n2nd\n1st\n", out());
  }

  @Test
  void textHasGogosCommandsAfterThoseOfThalamus() {
    String text = "each [1 2] { one $it }; first | grep st; first | grep nothing";
    assertEquals(1, run("text", text, List.of(), false), "grep finds nothing in the last line");
    assertEquals(List.of(List.of("1"), List.of("2")), seen);
    assertEquals("1st\n", out());
    assertEquals("", err());
  }

  @Test
  void aFailureInAnyStageOfAPipeIsTheStatus() {
    assertEquals(2, run("text", "refuse | grep x", List.of(), false));
    assertEquals("thalamus: no such option\n", err());
    assertEquals(0, run("text", "refuse | grep x; first | grep 1", List.of(), false));
    assertEquals("1st\n", out());
  }

  @Test
  void textJoinsStatementsByTheirStatus() {
    String text = "fail || first; first && second; refuse && first || second";
    assertEquals(0, run("text", text, List.of(), false));
    assertEquals("1st\n1st\n2nd\n2nd\n", out());
    assertEquals("thalamus: the device is lost\nthalamus: no such option\n", err());
  }

  @Test
  void anExitEndsTheTextFromAnyDepthWithItsStatus() {
    assertEquals(7, run("text", "first; each [1 2] { exit 7 }\nsecond", List.of(), false));
    assertEquals("1st\n", out());
    assertEquals("", err());
    assertEquals(1, run("text", "first | grep no; quit", List.of(), false), "as it was so far");
    assertEquals(2, run("text", "exit now", List.of(), false));
  }

  @Test
  void aResultGoesWhereTheOutputOfItsCommandGoes(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("a file");
    String text = "first > '" + file + "'; second >> '" + file + "'; first";
    assertEquals(0, run("text", text, List.of(), false), this::err);
    assertEquals("1st\n2nd\n", Files.readString(file));
    assertEquals("1st\n", out());
    assertEquals(0, run("text", "first > $1", List.of(file.toString()), false), this::err);
    assertEquals("1st\n", Files.readString(file));
  }

  @Test
  void aStatementMayGoOnInTheNextLine() {
    String text = "each [1 2] {\n  one $it\n}\nfirst |\ngrep 1\nfirst &&\nsecond";
    assertEquals(0, run("text", text, List.of(), false), this::err);
    assertEquals(List.of(List.of("1"), List.of("2")), seen);
    assertEquals("1st\n1st\n2nd\n", out());
    assertEquals(2, run("text", "first &&", List.of(), false));
  }

  @Test
  void manyLinesAreRunAsTheyAreRead(@TempDir Path directory) throws Exception {
    Path script =
        Files.writeString(directory.resolve("s"), "one 1\n".repeat(5_000) + "fail\none 1");
    assertEquals(1, run("file", script, List.of(), false));
    assertEquals(5_000, seen.size());
  }

  @Test
  void oneStatementMayHaveManyLines(@TempDir Path directory) throws Exception {
    String text = "each [1] {\n" + "  one $it\n".repeat(2_000) + "}\nfirst\n";
    Path script = Files.writeString(directory.resolve("s"), text);
    assertEquals(0, run("file", script, List.of(), false), this::err);
    assertEquals(2_000, seen.size());
    assertTrue(out().endsWith("1st\n"), this::out);
  }

  @Test
  void textStopsAtItsFirstFailure() {
    assertEquals(1, run("text", "first; fail; second", List.of(), false));
    assertEquals("1st\n", out());
  }

  @Test
  void textKeepsItsOwnOperators() {
    assertEquals(0, run("text", "x = 3 ; echo $x && second; echo {a b}", List.of(), false));
    assertEquals(List.of("3"), seen.getFirst());
    assertTrue(out().contains("2nd"), this::out);
  }

  @Test
  void brokenTextIsWrongUsage() {
    assertEquals(2, run("text", "echo 'open", List.of(), false));
    assertTrue(err().startsWith("thalamus: not a Gogo command"), this::err);
  }

  @Test
  void anUnknownCommandInTextIsWrongUsage() {
    assertEquals(2, run("text", "nn:frist", List.of(), false));
    assertEquals("thalamus: no command nn:frist; did you mean nn:first?\n", err());
  }

  @Test
  void aScriptSeesItsArguments(@TempDir Path directory) throws Exception {
    Path script = Files.writeString(directory.resolve("s.gogo"), "# words\necho $1 $args\n");
    assertEquals(0, run("file", script, List.of("a b", "c"), false), this::err);
    assertEquals("a b", seen.getFirst().getFirst());
  }

  @Test
  void aMissingScriptIsOneLine(@TempDir Path directory) {
    assertEquals(1, run("file", directory.resolve("none"), List.of(), false));
    assertTrue(err().startsWith("thalamus: no such file: "), this::err);
  }
}
