// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Priority;
import io.thalamus.tck.mutation.MutationFamily.Collector;
import io.thalamus.vectors.RawSubgraph;

/** Faults in the settings of a prepare: numbers just outside of the known ones. */
final class SettingFaults {
  private SettingFaults() {}

  static void preference(RawSubgraph graph, Collector found) {
    for (int bad :
        new int[] {
          ExecutionPreference.LOW_POWER.code() - 1, ExecutionPreference.SUSTAINED_SPEED.code() + 1
        }) {
      found.add("preference " + bad, draft -> draft.setPreference(bad));
    }
  }

  static void priority(RawSubgraph graph, Collector found) {
    for (int bad : new int[] {Priority.LOW.halCode() - 1, Priority.HIGH.halCode() + 1}) {
      found.add("priority " + bad, draft -> draft.setPriority(bad));
    }
  }
}
