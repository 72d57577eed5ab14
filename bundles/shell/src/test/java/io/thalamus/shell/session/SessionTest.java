// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.gogo.runtime.threadio.ThreadIOImpl;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Function;
import org.apache.felix.service.command.Job;
import org.jline.reader.CompletingParsedLine;
import org.jline.reader.Parser.ParseContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Over a real Gogo, without a framework. */
class SessionTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final List<String> errors = new ArrayList<>();
  private int turns;
  private int left;
  private ThreadIOImpl streams;
  private Session session;
  private Script script;

  /** Commands of a bundle. */
  public final class Commands {
    public void interrupted() {
      Thread.currentThread().interrupt();
      System.out.println("lost");
      System.err.println("lost");
    }

    public void live() {
      System.out.println("live");
    }

    public void complain() throws Exception {
      System.err.println("3 of 4 are done");
      throw new InterruptedException();
    }

    public void exhaust() {
      throw new OutOfMemoryError("Java heap space");
    }

    public void turn() {
      turns++;
    }

    public void loop(CommandSession session, Function body) throws Exception {
      for (int i = 0; i < 100; i++) {
        body.execute(session, List.of());
      }
      Field children = Job.Utils.current().getClass().getDeclaredField("children");
      children.setAccessible(true);
      left = ((List<?>) children.get(Job.Utils.current())).size();
    }
  }

  @BeforeEach
  void gogo() {
    streams = new ThreadIOImpl();
    streams.start();
    CommandProcessorImpl processor = new CommandProcessorImpl(streams);
    Commands commands = new Commands();
    for (String name : List.of("interrupted", "live", "complain", "exhaust", "turn", "loop")) {
      processor.addCommand("nn", commands, name);
    }
    PrintStream screen = new PrintStream(out, true);
    session = new Session(processor, new ByteArrayInputStream(new byte[0]), screen, screen);
    script = new Script(session, errors::add, () -> false);
  }

  @AfterEach
  void restoreStreams() {
    session.close();
    streams.stop();
  }

  @Test
  void aCommandThatPrintsWhenInterruptedDoesNotMuteTheSession() {
    script.run("interrupted");
    script.run("interrupted | interrupted");
    out.reset();
    script.run("live");
    assertEquals("live\n", out.toString());
  }

  @Test
  void whatEndsAStatementIsSaidWithItsCause() throws Exception {
    script.run("live > /none/such");
    script.run("exhaust");
    script.run("exit soon");
    assertEquals(
        List.of(
            "cannot open /none/such: there is no such file or folder",
            "out of memory: Java heap space; THALAMUS_JAVA_OPTIONS=-Xmx4g, for example,"
                + " allows 4 GiB",
            "exit wants a number, not soon"),
        errors);
  }

  @Test
  void aLoopKeepsNoneOfItsTurns() {
    script.run("loop { turn }");
    assertEquals(100, turns);
    assertEquals(0, left);
  }

  @Test
  void ofAnInterruptedLineOnlyTheComplaintsAboutThatAreKeptBack() throws Exception {
    session.errors().hold();
    script.run("complain | live");
    assertEquals("live\n", out.toString());
    session.errors().release();
    assertEquals("live\n3 of 4 are done\n", out.toString());
  }

  @Test
  void standardInputGoesOnAfterAFailureAndKeepsItsStatus() throws Exception {
    BufferedReader typed = new BufferedReader(new StringReader("live\nlvie\n'\nlive'\nlive\n"));
    assertEquals(2, script.run(typed, false));
    assertEquals("live\n\nlive\nlive\n", out.toString());
    assertEquals(1, errors.size(), errors::toString);
    assertFalse(script.isEnded());
  }

  private static CompletingParsedLine completed(String typed) {
    Completion parser = new Completion(new org.apache.felix.gogo.jline.Parser());
    return (CompletingParsedLine) parser.parse(typed, typed.length(), ParseContext.COMPLETE);
  }

  @Test
  void aCandidateIsQuotedAsTheWordBegins() {
    assertEquals("a\\ b\\ \\(1\\)", completed("x a").escape("a b (1)", true).toString());
    assertEquals("\"a b (1)\"", completed("x \"a").escape("a b (1)", true).toString());
    assertEquals("'a b/", completed("x 'a").escape("a b/", false).toString());
  }

  @Test
  void theWordToCompleteEndsAtTheCursorHoweverItIsQuoted() {
    for (String typed : List.of("x my\\ d", "x \"my d", "x 'my d", "x y | z my\\ d")) {
      CompletingParsedLine line = completed(typed);
      assertEquals("my d", line.word().substring(0, line.wordCursor()), typed);
    }
  }
}
