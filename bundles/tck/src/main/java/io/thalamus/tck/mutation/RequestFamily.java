// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.tck.request.TestRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The faults in requests of {@code ValidateRequest.cpp} in the vendor test suite of NN HAL 1.3, and
 * that of {@code validateExecuteFenced}.
 */
public enum RequestFamily {
  /** An input too few. */
  REMOVE_INPUT("removeInput", 7_112) {
    @Override
    List<Fault> of(TestRequest valid) {
      List<Fault> faults = new ArrayList<>();
      Request request = valid.request();
      for (int i = 0; i < request.inputs().size(); i++) {
        faults.add(
            new Fault(
                "input " + i + " is gone",
                new Request(without(request.inputs(), i), request.outputs(), request.pools()),
                List.of()));
      }
      return faults;
    }
  },
  /** An output too few. */
  REMOVE_OUTPUT("removeOutput", 4_776) {
    @Override
    List<Fault> of(TestRequest valid) {
      List<Fault> faults = new ArrayList<>();
      Request request = valid.request();
      for (int i = 0; i < request.outputs().size(); i++) {
        faults.add(
            new Fault(
                "output " + i + " is gone",
                new Request(request.inputs(), without(request.outputs(), i), request.pools()),
                List.of()));
      }
      return faults;
    }
  },
  /** A fence to wait for that is none. */
  NULL_FENCE("nullFence", 3_801) {
    @Override
    List<Fault> of(TestRequest valid) {
      return List.of(
          new Fault(
              "a fence to wait for is null",
              valid.request(),
              Arrays.asList(SyncFence.signalled(), null)));
    }

    @Override
    boolean isForFencedOnly() {
      return true;
    }
  };

  private final String aospName;
  private final int aospCount;

  RequestFamily(String aospName, int aospCount) {
    this.aospName = aospName;
    this.aospCount = aospCount;
  }

  public String aospName() {
    return aospName;
  }

  /** Returns how many requests AOSP's family mutates. */
  public int aospCount() {
    return aospCount;
  }

  /** All mutated requests of this family. */
  abstract List<Fault> of(TestRequest valid);

  /** Returns whether only fenced executions can have the fault. */
  boolean isForFencedOnly() {
    return false;
  }

  private static <T> List<T> without(List<T> list, int index) {
    List<T> changed = new ArrayList<>(list);
    changed.remove(index);
    return changed;
  }

  /**
   * A request that must be refused.
   *
   * @param waitFor may hold null
   */
  record Fault(String description, Request request, List<SyncFence> waitFor) {}
}
