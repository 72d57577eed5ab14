// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.SyncFence;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/**
 * The faults in requests of {@code ValidateRequest.cpp} in the vendor test suite of NN HAL 1.3, and
 * that of {@code validateExecuteFenced}.
 */
public enum RequestFamily implements Family {
  /** An input too few. */
  REMOVE_INPUT(
      "removeInput",
      7_112,
      valid ->
          removed(
              "input",
              valid.inputs(),
              inputs -> new Request(inputs, valid.outputs(), valid.pools()))),
  /** An output too few. */
  REMOVE_OUTPUT(
      "removeOutput",
      4_776,
      valid ->
          removed(
              "output",
              valid.outputs(),
              outputs -> new Request(valid.inputs(), outputs, valid.pools()))),
  /** A fence to wait for that is none: of fenced executions only. */
  NULL_FENCE(
      "nullFence",
      3_801,
      valid ->
          List.of(
              new Fault(
                  "a fence to wait for is null",
                  valid,
                  Arrays.asList(SyncFence.signalled(), null))));

  private final String aospName;
  private final int aospCount;
  private final Function<Request, List<Fault>> faults;

  RequestFamily(String aospName, int aospCount, Function<Request, List<Fault>> faults) {
    this.aospName = aospName;
    this.aospCount = aospCount;
    this.faults = faults;
  }

  @Override
  public String aospName() {
    return aospName;
  }

  @Override
  public int aospCount() {
    return aospCount;
  }

  /** All mutated requests of this family. */
  List<Fault> of(Request valid) {
    return faults.apply(valid);
  }

  private static List<Fault> removed(
      String what, List<Argument> all, Function<List<Argument>, Request> request) {
    List<Fault> faults = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      List<Argument> others = new ArrayList<>(all);
      others.remove(i);
      faults.add(new Fault(what + " " + i + " is gone", request.apply(others), List.of()));
    }
    return faults;
  }

  /**
   * A request that must be refused.
   *
   * @param waitFor may hold null
   */
  record Fault(String description, Request request, List<SyncFence> waitFor) {}
}
