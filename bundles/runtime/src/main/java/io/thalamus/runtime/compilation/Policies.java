// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.policy.PartitionPolicy;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/** The policies that are here, and the one that was chosen. Thread-safe. */
@Component(service = Policies.class, configurationPid = "io.thalamus.runtime.partitioning")
public final class Policies {
  private static final System.Logger LOG = System.getLogger(Policies.class.getPackageName());

  private final List<PartitionPolicy> policies = new CopyOnWriteArrayList<>();
  private final PartitionPolicy nnapi = new NnapiPolicy();
  private final String chosen;

  /** Settings of the partitioning. */
  public @interface Settings {
    /** The name of the policy to use. */
    String policy() default NnapiPolicy.NAME;
  }

  @Activate
  public Policies(Settings settings) {
    this(settings.policy());
  }

  /** With the policy of this name chosen. */
  public Policies(String chosen) {
    this.chosen = chosen;
  }

  /** A policy has come. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public void addPolicy(PartitionPolicy policy) {
    policies.add(policy);
  }

  /** A policy goes. */
  public void removePolicy(PartitionPolicy policy) {
    policies.remove(policy);
  }

  /** The chosen one; NNAPI's where that is not here. */
  public PartitionPolicy current() {
    for (PartitionPolicy policy : policies) {
      if (policy.name().equals(chosen)) {
        return policy;
      }
    }
    if (!chosen.equals(NnapiPolicy.NAME)) {
      LOG.log(Level.WARNING, "the partition policy {0} is not here; nnapi decides", chosen);
    }
    return nnapi;
  }
}
