// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.chaos.FaultInjector;
import io.thalamus.chaos.ServiceSwitch;
import io.thalamus.chaos.service.Injectors;
import io.thalamus.console.CommandException;
import io.thalamus.console.Result;
import io.thalamus.console.ResultConverter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.gogo.runtime.threadio.ThreadIOImpl;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.apache.felix.service.threadio.ThreadIO;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChaosCommandTest {
  @TempDir private Path directory;

  private final FaultInjector injector = new FaultInjector(ServiceSwitch.NONE, "test-faults");
  private boolean isTakenOver;
  private List<String> devices = List.of("cpu", "npu");

  private final Injectors injectors =
      new Injectors() {
        @Override
        public List<String> devices() {
          return devices;
        }

        @Override
        public Optional<FaultInjector> find(String device) {
          return isTakenOver ? Optional.of(injector) : Optional.empty();
        }

        @Override
        public FaultInjector takeOver(String device) {
          if (!devices().contains(device)) {
            throw new NoSuchElementException("no device " + device);
          }
          isTakenOver = true;
          return injector;
        }
      };
  private final ThreadIO terminals = new ThreadIOImpl();
  private CommandSession session;

  @BeforeEach
  void open() {
    CommandProcessorImpl gogo = new CommandProcessorImpl(terminals);
    gogo.addCommand("nn", new ChaosCommand(injectors), "chaos");
    gogo.addConverter(new ResultConverter());
    session =
        gogo.createSession(
            new ByteArrayInputStream(new byte[0]),
            new ByteArrayOutputStream(),
            new ByteArrayOutputStream());
    session.currentDir(directory);
  }

  @AfterEach
  void close() {
    session.close();
    injector.close();
  }

  private String run(String line) throws Exception {
    return ((Result) session.execute(line)).show();
  }

  @Test
  void faultsAreAddedAndShownAndTakenBack() throws Exception {
    assertEquals(
        """
        npu is serving
          rules       none
          executions  0
          injected    latency 0, hang 0, crash 0, wrong 0, exhaust 0, lose 0\
        """,
        run("nn:chaos npu status"));
    run("nn:chaos npu latency 20ms");
    String text = run("nn:chaos npu wrong --rate 0.1 --seed=5");
    assertTrue(text.contains("rules       latency 20ms\n              rate 0.1 seed 5 wrong 1\n"));
    assertTrue(
        run("nn:chaos npu exhaust 3").contains("npu is exhausted; calls still to refuse: 3"));
    assertTrue(run("nn:chaos npu hang").startsWith("npu is hung; calls still to refuse: 3\n"));
    assertTrue(run("nn:chaos npu reset").startsWith("npu is serving\n  rules       none\n"));
    assertTrue(run("nn:chaos npu lose --for 60s").startsWith("npu is lost\n"));
  }

  @Test
  void jsonIsOneObjectOnOneLine() throws Exception {
    run("nn:chaos npu --every 50 crash");
    String expected =
        "{\"device\":\"npu\",\"state\":\"serving\",\"rules\":[\"every 50 crash GENERAL_FAILURE\"],"
            + "\"executions\":0,\"injected\":{\"latency\":0,\"hang\":0,\"crash\":0,\"wrong\":0,"
            + "\"exhaust\":0,\"lose\":0},\"hungCalls\":0,\"refusals\":0}";
    assertEquals(expected, run("nn:chaos npu status --json"));
    session.put("nn.json", true);
    assertEquals(expected, run("nn:chaos npu"));
  }

  @Test
  void scriptsAreRead() throws Exception {
    Files.writeString(
        directory.resolve("day.txt"), "latency 1ms\nafter 9 executions hang # late\n");
    assertTrue(run("nn:chaos npu script day.txt").contains("after 9 executions once hang"));
    Files.writeString(directory.resolve("bad.txt"), "latency 1ms\nexplode\n");
    assertFails("nn:chaos npu script bad.txt", 1, "bad.txt, line 2: what is \"explode\"?");
    Files.write(directory.resolve("binary"), new byte[] {(byte) 0xFF, 0, (byte) 0x80});
    assertFails("nn:chaos npu script binary", 1, "binary is no text");
  }

  @Test
  void whereNoDeviceIsHereTheRemedyIsNamed() {
    devices = List.of();
    for (String words : List.of("hang", "status")) {
      assertFails("nn:chaos gpu " + words, 1, "no device gpu; none is here, nn:install adds one");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "nn:chaos, 2, nn:chaos: too few arguments",
    "nn:chaos gpu hang, 1, 'no device gpu; there are: cpu, npu'",
    "nn:chaos gpu status, 1, 'no device gpu; there are: cpu, npu'",
    "nn:chaos npu hang --for, 2, nn:chaos: --for needs a value, TIME",
    "nn:chaos npu explode, 2, nn:chaos: what is \"explode\"?",
    "nn:chaos npu wrong --rate 7, 2, nn:chaos: rate 7: give a number above 0",
    "nn:chaos npu status now, 2, nn:chaos: what is \"now\" behind status?",
    "nn:chaos npu script, 2, nn:chaos: which script?",
    "nn:chaos npu script none.txt, 1, no such file: none.txt",
  })
  void mistakesAreOneLine(String line, int status, String message) {
    assertFails(line, status, message);
  }

  private void assertFails(String line, int status, String message) {
    CommandException e = assertThrows(CommandException.class, () -> session.execute(line));
    assertTrue(e.getMessage().startsWith(message), e::getMessage);
    assertEquals(1, e.getMessage().lines().count());
    assertEquals(status, e.exitStatus());
  }

  @Test
  void aStatusTakesNothingOver() throws Exception {
    assertTrue(run("nn:chaos npu status").startsWith("npu is serving"));
    assertFalse(isTakenOver);
    run("nn:chaos npu reset");
    assertTrue(isTakenOver);
  }

  @Test
  void theListOfCommandsHasIt() throws Exception {
    Method method = ChaosCommand.class.getMethod("chaos", CommandSession.class, String[].class);
    Path bin = Path.of(System.getProperty("thalamus.root"), "launcher/src/main/dist/bin");
    String line = "  chaos      " + method.getAnnotation(Descriptor.class).value();
    assertTrue(Files.readAllLines(bin.resolve("help.txt")).contains(line), line);
  }
}
