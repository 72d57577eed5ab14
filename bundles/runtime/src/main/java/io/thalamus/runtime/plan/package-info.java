// SPDX-License-Identifier: Apache-2.0
/** Plans: a model as steps for devices, with their models and control flow. */
package io.thalamus.runtime.plan;
