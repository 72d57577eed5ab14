// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FaultPlanTest {
  private static FaultRule rule(String text) throws FaultScriptException {
    return FaultPlan.rule(Arrays.asList(text.split(" ")));
  }

  private static Trigger when(long after, long every, double rate, long seed, boolean once) {
    return new Trigger(after, every, rate, seed, once);
  }

  @Test
  void everyFaultCanBeWritten() throws FaultScriptException {
    assertEquals(
        new FaultRule(when(100, 1, 1, 0, true), new Fault.Hang(Optional.empty())),
        rule("after 100 executions hang"));
    assertEquals(
        new FaultRule(when(0, 50, 1, 0, false), new Fault.Crash(ErrorStatus.GENERAL_FAILURE)),
        rule("every 50 crash"));
    assertEquals(
        new FaultRule(when(3, 1, 1, 0, true), new Fault.Crash(ErrorStatus.DEVICE_UNAVAILABLE)),
        rule("once after 3 crash with DEVICE_UNAVAILABLE".replace("with ", "")));
    assertEquals(
        new FaultRule(when(0, 1, 0.01, 7, false), new Fault.Wrong(1)),
        rule("with seed 7 rate 0.01 wrong"));
    assertEquals(
        new FaultRule(when(0, 1, 0.1, 5, false), new Fault.Wrong(8)),
        rule("wrong 8 bits rate 0.1 seed 5"));
    assertEquals(
        new FaultRule(when(0, 1, 1, 0, true), new Fault.Lose(Duration.ofMillis(500))),
        rule("lose for 500 ms"));
    assertEquals(
        new FaultRule(Trigger.ALWAYS, new Fault.Latency(Duration.ofMillis(20))),
        rule("latency 20ms"));
    assertEquals(
        new FaultRule(when(0, 9, 1, 0, false), new Fault.Hang(Optional.of(Duration.ofSeconds(2)))),
        rule("every 9 hang for 2 s"));
    assertEquals(
        new FaultRule(when(0, 1, 1, 0, true), new Fault.Exhaust(OptionalInt.of(5))),
        rule("exhaust 5"));
    assertEquals(
        new FaultRule(when(2, 1, 1, 0, true), new Fault.Exhaust(OptionalInt.empty())),
        rule("after 2 exhaust"));
  }

  @Test
  void aPlanIsWrittenAsItIsRead() throws FaultScriptException {
    String script =
        """
        # what a bad day looks like
        latency 20ms
        after 100 executions hang   # the rest of the day

        every 3 seed 9 rate 0.25 hang for 50us
        every 50 crash DEVICE_UNAVAILABLE
        with seed 7 rate 0.01 wrong
        exhaust 5
        after 7 executions exhaust
        lose for 2s
        """;
    FaultPlan plan = FaultPlan.parse(script);
    assertEquals(8, plan.rules().size());
    assertEquals(plan, FaultPlan.parse(plan.toString()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "explode | what is \"explode\"?",
        "every 50 | there is no fault",
        "every crash | every crash: that is not a whole number",
        "every 0 crash | every 0: give 1 or more",
        "after | after needs a number of executions",
        "after -1 hang | after -1: give 0 or more",
        "rate 2 wrong | rate 2: give a number above 0",
        "rate no wrong | rate no: give a number above 0",
        "latency | latency needs a time",
        "latency 20 | latency 20: write a time as",
        "latency 0ms | latency 0ms: write a time as",
        "lose | for how long?",
        "lose for ever | for ever: write a time as",
        "hang crash | there are two faults",
        "crash NONE | crash NONE: write GENERAL_FAILURE or DEVICE_UNAVAILABLE",
        "crash for 2s | only latency, hang and lose last for a time",
        "exhaust -1 | exhaust -1: give a number from 1",
        "wrong 0 | wrong 0: give a number from 1",
        "seed x wrong | seed x: that is not a whole number",
      })
  void aMistakeIsNamedWithItsLine(String line, String expected) {
    FaultScriptException e =
        assertThrows(FaultScriptException.class, () -> FaultPlan.parse("latency 1ms\n" + line));
    assertTrue(e.getMessage().startsWith("line 2: " + expected), e::getMessage);
    assertEquals(1, e.getMessage().lines().count());
  }

  @Test
  void triggersCountFromOne() {
    assertEquals(
        List.of(13L, 16L, 19L),
        LongStream.rangeClosed(1, 20).filter(when(10, 3, 1, 0, false)::strikes).boxed().toList());
    assertEquals(3, LongStream.rangeClosed(1, 3).filter(Trigger.ALWAYS::strikes).count());
  }

  @Test
  void aRateIsKeptAndASeedRepeats() {
    Trigger tenth = when(0, 1, 0.1, 5, false);
    List<Long> struck = LongStream.rangeClosed(1, 100_000).filter(tenth::strikes).boxed().toList();
    assertTrue(struck.size() > 9_500 && struck.size() < 10_500, "struck " + struck.size());
    Trigger same = when(0, 1, 0.1, 5, false);
    assertEquals(struck, LongStream.rangeClosed(1, 100_000).filter(same::strikes).boxed().toList());
    Trigger other = when(0, 1, 0.1, 6, false);
    long both = struck.stream().filter(other::strikes).count();
    assertTrue(both > 800 && both < 1_200, "both strike " + both);
  }
}
