// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.console.Candidates;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Syntax;
import io.thalamus.console.text.Style;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Finding;
import io.thalamus.vectors.Outcome;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.gogo.runtime.threadio.ThreadIOImpl;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleContext;

class CertifyCommandTest {
  private final CertifyCommand command = new CertifyCommand(null);
  private final Syntax syntax = command.syntaxes().getFirst();

  @Test
  void theFieldsOfItsJsonAreAnInterface() {
    CertificationReport report =
        new CertificationReport(
            "thalamus-cpu",
            List.of(
                new Finding("facts", "a", new Outcome.Passed()),
                new Finding("graphs", "b", new Outcome.Failed("why")),
                new Finding("graphs", "c", new Outcome.Skipped("because"))),
            15_000,
            200,
            Duration.ofNanos(1_234_567_890));
    assertEquals(
        "{\"device\":\"thalamus-cpu\",\"passed\":1,\"failed\":1,\"skipped\":1,\"badPackets\":15000,\"onDeadlines\":200,\"millis\":1234,"
            + "\"groups\":{\"facts\":{\"passed\":1,\"failed\":0,\"skipped\":0},"
            + "\"graphs\":{\"passed\":0,\"failed\":1,\"skipped\":1}},\"failures\":[\"graphs/b:"
            + " why\"]}",
        new CertifyResult(report, new Style(true, false, 80)).show());
  }

  @Test
  void helpAndTabKnowEveryOption() throws Exception {
    String help = syntax.help(Style.PLAIN);
    for (Syntax.Option option : syntax.options()) {
      assertTrue(help.contains("--" + option.name()), help);
    }
    assertTrue(help.contains("\nGroups of checks: facts, "), help);
    for (String files : List.of("--vectors", "--exceptions")) {
      assertFalse(syntax.candidates(List.of("cpu", files)).equals(Candidates.NONE), files);
    }
    assertEquals(List.of(Candidates.Kind.DEVICES), syntax.candidates(List.of()).kinds());
    Method method = CertifyCommand.class.getMethod("certify", CommandSession.class, String[].class);
    assertEquals(
        "DEVICE " + Command.OPTIONS,
        method.getParameters()[1].getAnnotation(Descriptor.class).value());
  }

  @Test
  void mistakesSayHowItIsWritten() {
    String usage =
        "; usage: nn:certify DEVICE [--random N] [--packets N] [--seed S] [--vectors DIR]"
            + " [--exceptions FILE] [--json]";
    for (String[] words : new String[][] {{}, {"cpu", "simd"}, {"cpu", "--random"}}) {
      CommandException e =
          Assertions.assertThrows(CommandException.class, () -> syntax.parse(words));
      assertEquals(2, e.exitStatus());
      assertTrue(e.getMessage().endsWith(usage), e.getMessage());
    }
  }

  @Test
  void whereNoDeviceIsHereTheRemedyIsNamed() {
    BundleContext context =
        (BundleContext)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {BundleContext.class},
                (_, _, _) -> List.of());
    CertifyCommand alone = new CertifyCommand(context);
    CommandSession session =
        new CommandProcessorImpl(new ThreadIOImpl())
            .createSession(InputStream.nullInputStream(), System.out, System.err);
    CommandException e =
        Assertions.assertThrows(
            CommandException.class, () -> alone.certify(session, new String[] {"cpu"}));
    assertEquals("no device cpu; none is here, nn:install adds one", e.getMessage());
  }
}
