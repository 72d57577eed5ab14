// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.schedule.Contender;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The memories that one execution uses. Used by the one thread that executes. Locks all of them
 * before it begins, in one order for everybody, so that executions never wait in a circle.
 */
public final class MemoryBindings {
  private final List<MemoryBinding> bindings = new ArrayList<>();
  private int locked;

  /** The execution; null before it begins. */
  private Contender owner;

  /** Adds a memory to read, once however often it is given. */
  public MemoryBinding reading(DomainMemory memory) {
    for (MemoryBinding binding : bindings) {
      if (binding.memory() == memory && !binding.writes()) {
        return binding;
      }
    }
    return add(new MemoryBinding(memory, false));
  }

  /** Adds a memory to write. */
  public MemoryBinding writing(DomainMemory memory) {
    return add(new MemoryBinding(memory, true));
  }

  private MemoryBinding add(MemoryBinding binding) {
    bindings.add(binding);
    return binding;
  }

  /**
   * Locks the memories, and finds out where each is for this plan. Nothing is changed before that
   * has succeeded for all of them.
   *
   * @param control of the execution; while another one uses a memory, that one inherits its rank
   * @return whether all of them are locked
   * @throws NeuralNetworksException if one is closed, or does not hold what it must
   */
  public boolean begin(PreparedPlan plan, Contender control) throws NeuralNetworksException {
    owner = control;
    bindings.sort(Comparator.comparingLong(binding -> binding.memory().number()));
    for (MemoryBinding binding : bindings) {
      if (!binding.memory().lock(binding.writes(), control)) {
        return false;
      }
      locked++;
    }
    for (MemoryBinding binding : bindings) {
      binding.begin(plan);
    }
    for (MemoryBinding binding : bindings) {
      binding.start();
    }
    return true;
  }

  /** Continues in shared memory, with inputs as they were and outputs to be written anew. */
  public void restart() throws NeuralNetworksException {
    for (MemoryBinding binding : bindings) {
      binding.restart();
    }
  }

  /** Ends the bindings that have begun. */
  public void end(boolean isSuccess) {
    for (int i = 0; i < locked; i++) {
      bindings.get(i).end(isSuccess);
    }
    for (int i = 0; i < locked; i++) {
      bindings.get(i).memory().unlock(bindings.get(i).writes(), owner);
    }
    if (locked > 0) {
      owner.disinherit();
    }
    locked = 0;
  }
}
