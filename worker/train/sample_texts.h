// Examples of what a model makes of its validation data, for people.
#ifndef DDP_WORKER_TRAIN_SAMPLE_TEXTS_H_
#define DDP_WORKER_TRAIN_SAMPLE_TEXTS_H_

#include <cstdint>
#include <string>

#include "worker/config.h"
#include "worker/data/dataset.h"
#include "worker/models/model.h"
#include "worker/train/batch.h"
#include "worker/train/batch_copier.h"

namespace ddp {

// At most 8 texts, taken evenly from all of validation, the same in every run and on any number of ranks:
//   classification  the true label, the predicted one with its probability, and the text
//   mlm             the text with its hidden tokens, and what was predicted for each
//   clm             a text's beginning, how the model goes on (always with the likeliest token), and how the text does
// Empty for other objectives, models without logits, and data that is no text. A forward pass or (clm) a few small
// ones on this rank alone; at_most samples in one, as validation has it. No gradient, no dropout, no random number.
std::string SampleTexts(Model& model, const BatchMaker& maker, const BatchCopier& copier, const Dataset& data,
                        Objective objective, int64_t at_most, bool bf16);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_SAMPLE_TEXTS_H_
