// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.runtime.plan.PreparedPlan;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The memories that one execution uses. Used by the one thread that executes. Claims all of them
 * before it begins, in one order for everybody, so that nobody waits in a circle.
 */
public final class MemoryUses {
  private final List<MemoryUse> uses = new ArrayList<>();
  private int claimed;

  /** Adds a memory to read, once however often it is given. */
  public MemoryUse reading(DomainMemory memory) {
    for (MemoryUse use : uses) {
      if (use.memory() == memory && !use.writes()) {
        return use;
      }
    }
    return add(new MemoryUse(memory, false));
  }

  /** Adds a memory to write. */
  public MemoryUse writing(DomainMemory memory) {
    return add(new MemoryUse(memory, true));
  }

  private MemoryUse add(MemoryUse use) {
    uses.add(use);
    return use;
  }

  /**
   * Claims the memories, and finds out where each is for this plan. Nothing is changed before that
   * has succeeded for all of them.
   *
   * @param mayWait asked now and then while another execution has one of them
   * @return whether it was waited for all of them
   * @throws NeuralNetworksException where one is closed, or does not hold what it must
   */
  public boolean begin(PreparedPlan plan, BooleanSupplier mayWait) throws NeuralNetworksException {
    uses.sort(Comparator.comparingLong(use -> use.memory().number()));
    for (MemoryUse use : uses) {
      if (!use.memory().claim(use.writes(), mayWait)) {
        return false;
      }
      claimed++;
    }
    for (MemoryUse use : uses) {
      use.begin(plan);
    }
    for (MemoryUse use : uses) {
      use.start();
    }
    return true;
  }

  /** Goes on in shared memory, with inputs as they were and outputs to be written anew. */
  public void restart() throws NeuralNetworksException {
    for (MemoryUse use : uses) {
      use.restart();
    }
  }

  /** Ends the uses that have begun. */
  public void end(boolean isSuccess) {
    for (int i = 0; i < claimed; i++) {
      uses.get(i).end(isSuccess);
    }
    for (int i = 0; i < claimed; i++) {
      uses.get(i).memory().unclaim(uses.get(i).writes());
    }
    claimed = 0;
  }
}
