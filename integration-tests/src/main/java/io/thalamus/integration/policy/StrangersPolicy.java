// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.policy;

import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.policy.PartitionProblem;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** The last device that supports an operation gets it. Stateless. */
public final class StrangersPolicy implements PartitionPolicy, BundleActivator {
  @Override
  public String name() {
    return "the-last-shall-be-first";
  }

  @Override
  public int[] assign(PartitionProblem problem) {
    int[] choices = new int[problem.graph().operations().size()];
    for (int operation = 0; operation < choices.length; operation++) {
      choices[operation] = problem.isInterpretable(operation) ? INTERPRETER : UNASSIGNED;
      for (int device = 0; device < problem.candidates().size(); device++) {
        if (problem.supports(device, operation)) {
          choices[operation] = device;
        }
      }
    }
    return choices;
  }

  @Override
  public void start(BundleContext context) {
    context.registerService(PartitionPolicy.class, this, null);
  }

  @Override
  public void stop(BundleContext context) {} // the framework takes the service away
}
