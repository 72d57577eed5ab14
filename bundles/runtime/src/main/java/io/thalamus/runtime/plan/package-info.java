// SPDX-License-Identifier: Apache-2.0
/** What a model becomes when it is given to devices: steps, their models, and control flow. */
package io.thalamus.runtime.plan;
