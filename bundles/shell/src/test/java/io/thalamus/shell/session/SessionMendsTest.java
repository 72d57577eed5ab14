// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.util.List;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.gogo.runtime.threadio.ThreadIOImpl;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Function;
import org.apache.felix.service.command.Job;
import org.jline.reader.CompletingParsedLine;
import org.jline.reader.impl.DefaultParser;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Over a real Gogo, without a framework. */
class SessionMendsTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private int turns;
  private int left;
  private ThreadIOImpl streams;
  private CommandSession session;

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
    processor.addListener(new SessionMends());
    Commands commands = new Commands();
    for (String name : List.of("interrupted", "live", "turn", "loop")) {
      processor.addCommand("t", commands, name);
    }
    PrintStream screen = new PrintStream(out, true);
    session = processor.createSession(new ByteArrayInputStream(new byte[0]), screen, screen);
  }

  @AfterEach
  void restoreStreams() {
    session.close();
    streams.stop();
  }

  @Test
  void aCommandThatPrintsWhenInterruptedDoesNotMuteTheSession() throws Exception {
    session.execute("interrupted");
    session.execute("interrupted | interrupted");
    out.reset();
    session.execute("live");
    assertEquals("live\n", out.toString());
  }

  @Test
  void aLoopKeepsNoneOfItsTurns() throws Exception {
    session.execute("loop { turn }");
    assertEquals(100, turns);
    assertEquals(0, left);
  }

  @Test
  void aCandidateWithSpacesIsQuotedAsTheWordBegins() {
    CompletingParsedLine line =
        (CompletingParsedLine)
            new DefaultParser().parse("x a", 3, org.jline.reader.Parser.ParseContext.COMPLETE);
    assertEquals("a\\ b\\ c", new Completion.Line(line).escape("a b c", true).toString());
  }
}
